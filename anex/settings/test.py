"""The test suite: services named by the environment the test session sets up (tests/services.py)."""

from anex.settings.base import *
from anex.settings.environment import env

DEBUG = False
SECRET_KEY = "test-only-key-0123456789-0123456789-0123456789-0123456789"  # noqa: S105
ALLOWED_HOSTS = ["*"]
DATABASES = {"default": env.db_url("DATABASE_URL") | {"ENGINE": "anex.core.postgres"}}
CELERY_BROKER_URL = env.str("REDIS_URL")
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
ANEX_LOCAL_PAYMENTS = True
# Static files are served from where they lie in the source; nothing has to be collected first.
WHITENOISE_AUTOREFRESH = True
WHITENOISE_USE_FINDERS = True
