"""Parquet files of customers, read and written in a child process that can open nothing and can be lost."""
