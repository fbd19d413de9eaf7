"""The console's pages that join apps, one module per page."""
