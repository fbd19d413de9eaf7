"""Runs with no environment; `.env` may add to it, and `var/services.env` says where `make demo` has its services."""

from anex.settings.environment import BASE_DIR, VAR_DIR, env

# Before the settings that read them.
for _file in (BASE_DIR / ".env", VAR_DIR / "services.env"):
    if _file.exists():
        env.read_env(_file)

from anex.settings.base import *  # noqa: E402

DEBUG = env.bool("ANEX_DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="development-only-key-not-for-production-use-0123456789")
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", "testserver"]
DATABASES = {"default": database(env.db_url("DATABASE_URL", default="postgres://postgres@127.0.0.1:5432/anex"))}
CELERY_BROKER_URL = env.str("REDIS_URL", default="redis://127.0.0.1:6379/0")
ANEX_LOCAL_PAYMENTS = env.bool("ANEX_LOCAL_PAYMENTS", default=True)
# Static files are served from where they lie in the source; nothing has to be collected first.
WHITENOISE_AUTOREFRESH = True
WHITENOISE_USE_FINDERS = True
