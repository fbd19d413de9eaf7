"""Every value that matters comes from the environment; missing ones stop the start with their names."""

import logging

from django.core.exceptions import ImproperlyConfigured

from anex.settings.base import *
from anex.settings.environment import env

_required = ("SECRET_KEY", "ALLOWED_HOSTS", "ANEX_PUBLIC_URL", "DATABASE_URL", "REDIS_URL")
_missing = [name for name in _required if not env.str(name, default="")]
if not env.str("ANEX_S3_BUCKET", default="") and not env.str("ANEX_STORAGE_DIR", default=""):
    _missing.append("ANEX_S3_BUCKET (or ANEX_STORAGE_DIR, for a single machine)")
if _missing:
    raise ImproperlyConfigured(f"Set these environment variables: {', '.join(_missing)}. See .env.example.")

DEBUG = False
SECRET_KEY = env.str("SECRET_KEY")
if len(SECRET_KEY) < 50:
    raise ImproperlyConfigured("SECRET_KEY must have at least 50 characters.")
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS")
if "*" in ALLOWED_HOSTS:
    raise ImproperlyConfigured(
        "ALLOWED_HOSTS must name hosts: links in mails are made of what a request says its host is."
    )
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
ANEX_PUBLIC_URL = env.str("ANEX_PUBLIC_URL")
DATABASES = {"default": database(env.db_url("DATABASE_URL"))}
CELERY_BROKER_URL = env.str("REDIS_URL")

LOGGING["handlers"]["console"]["formatter"] = "json"
# Python's warnings are lines like any other.
logging.captureWarnings(capture=True)

SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=True)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
# Browsers take a cookie of such a name from this very host alone, over https.
SESSION_COOKIE_NAME = "__Host-anex_session"
CSRF_COOKIE_NAME = "__Host-anex_csrf"
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https"
# https comes from the proxy in front (above), so there is one.
ANEX_TRUSTED_PROXIES = ALLAUTH_TRUSTED_PROXY_COUNT = env.int("ANEX_TRUSTED_PROXIES", default=1)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
