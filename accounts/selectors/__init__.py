"""Every read of accounts that another module needs."""
