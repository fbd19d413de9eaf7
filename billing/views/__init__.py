"""Console pages of billing, one module per page."""
