"""What the web process of the browser tests runs with: as the suite does, but its mail lies in a folder (EMAIL_URL)."""

from anex.settings.test import *  # noqa: F403

EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
