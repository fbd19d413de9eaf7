"""Console pages of accounts, one module per page."""
