"""Every write of accounts."""
