"""`manage.py doctor`: whether an installation has all it needs, and what to do where it has not."""
