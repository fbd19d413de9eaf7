"""A day before its month, 24 hours: nothing to wrap or to mistake."""

DATETIME_FORMAT = "j M Y, H:i"
