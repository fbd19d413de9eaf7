"""Django's way to Postgres, but for one thing: no statement is waited for without an end."""
