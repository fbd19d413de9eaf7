"""What every environment shares. Imports no app."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from anex.settings import openapi, sign_in, staff
from anex.settings.environment import BASE_DIR, VAR_DIR, env
from anex.settings.sign_in import *

_social_apps, SOCIALACCOUNT_PROVIDERS = sign_in.social(env)

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "accounts.apps.StaffConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    *_social_apps,
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "channels",
    "accounts",
    "billing",
    "inference",
    "jobs",
    "realtime",
    "anex.console",
    "anex.backups",
]

MIDDLEWARE = [
    "anex.refusals.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "anex.compression.PageCompression",
    # Before whatever may answer with a page, which loads its styles.
    "csp.middleware.CSPMiddleware",
    "anex.refusals.NulMiddleware",
    "anex.refusals.DatabaseAwayMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "anex.urls"
ASGI_APPLICATION = "anex.asgi.application"
WSGI_APPLICATION = None

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "anex.console.context.maintenance",
                "anex.console.context.member",
                "anex.console.context.theme",
            ],
        },
    },
]

# No wait for a database that is away is without an end: seconds to connect, seconds of silence until a connection is
# probed and given up, milliseconds that what was sent may stay unacknowledged.
_DATABASE_WAITS = {
    "connect_timeout": 5,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


def database(named: dict[str, Any]) -> dict[str, Any]:
    """The database that DATABASE_URL names, with connections that are kept and whose waits end."""
    options = _DATABASE_WAITS | named.get("OPTIONS", {})
    kept = {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
    return named | kept | {"ENGINE": "anex.core.postgres", "OPTIONS": options}


AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# Proxies in front, each of which adds the address it saw to X-Forwarded-For. Failed sign-ins and requests to the APIs
# are counted by address.
ANEX_TRUSTED_PROXIES = ALLAUTH_TRUSTED_PROXY_COUNT = env.int("ANEX_TRUSTED_PROXIES", default=0)
# How fast the APIs take requests, in all, before they are looked at.
ANEX_KEY_RATE = env.str("ANEX_KEY_RATE", default="2000 per 10 seconds")
ANEX_ADDRESS_RATE = env.str("ANEX_ADDRESS_RATE", default="5000 per 10 seconds")
# Unless a mail server is named, e-mails are printed into the log of the process that sends them.
_mail = env.email_url("EMAIL_URL", default="consolemail://")
EMAIL_BACKEND = _mail["EMAIL_BACKEND"]
EMAIL_HOST = _mail["EMAIL_HOST"]
EMAIL_PORT = _mail["EMAIL_PORT"]
EMAIL_HOST_USER = _mail["EMAIL_HOST_USER"]
EMAIL_HOST_PASSWORD = _mail["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS = _mail.get("EMAIL_USE_TLS", False)
# Where filemail writes: below the project, or anywhere with a fourth slash in front.
EMAIL_FILE_PATH = BASE_DIR / (_mail["EMAIL_FILE_PATH"] or "")
# Seconds; a mail server that keeps silent holds nobody up for longer.
EMAIL_TIMEOUT = 10
EMAIL_USE_SSL = _mail.get("EMAIL_USE_SSL", False)
DEFAULT_FROM_EMAIL = env.str("EMAIL_FROM", default="Anex <anex@localhost>")

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
FORMAT_MODULE_PATH = "anex.formats"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = BASE_DIR / "staticfiles"

CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "frame-ancestors": ["'none'"],
        "object-src": ["'none'"],
        "base-uri": ["'self'"],
        "form-action": ["'self'", *(sign_in.PROVIDER_HOSTS[name] for name in SOCIALACCOUNT_PROVIDERS)],
    },
    # Unfold, the staff area's theme, evaluates its Alpine expressions and ships inline styles.
    "EXCLUDE_URL_PREFIXES": ["/admin/"],
}
UNFOLD = staff.UNFOLD

X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.drf.KeyAuthentication"],
    "EXCEPTION_HANDLER": "accounts.drf.exception_handler",
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "accounts.drf.AlwaysJson",
    "UNAUTHENTICATED_USER": None,
    # A sentence may quote what was sent; escaped, even half a surrogate pair can be sent back.
    "UNICODE_JSON": False,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
}

CELERY_TASK_IGNORE_RESULT = True
# A sweep that no worker took within its minute is made up for by the next one.
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "jobs.sweep", "schedule": 60.0, "options": {"expires": 60.0}},
    "media": {"task": "jobs.sweep_media", "schedule": 1800.0, "options": {"expires": 1800.0}},
    "alerts": {"task": "accounts.sweep", "schedule": 60.0, "options": {"expires": 60.0}},
    "money": {"task": "billing.sweep", "schedule": 60.0, "options": {"expires": 60.0}},
}
CELERY_TASK_DEFAULT_QUEUE = "batch"
# The pump's connections must not be forked.
CELERY_WORKER_POOL = "threads"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A worker whose broker is away goes on looking at Postgres, for as long as it takes.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# Nobody waits long for the broker; longer than the second a worker's blocking read takes.
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {"socket_connect_timeout": 2, "socket_timeout": 5, "max_retries": 0}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# The region this process serves (DESIGN: storage, queues and backends are per region).
ANEX_REGION = env.str("ANEX_REGION", default="world")
if ANEX_REGION not in ("world", "eu"):
    raise ImproperlyConfigured("ANEX_REGION must be world or eu.")
# Regions that are given one Valkey by mistake take neither each other's messages nor answers.
ANEX_VALKEY_PREFIX = "" if ANEX_REGION == "world" else f"{ANEX_REGION}:"
CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"] = ANEX_VALKEY_PREFIX
# Where clients reach this installation; upload targets and download links are built on it.
ANEX_PUBLIC_URL = env.str("ANEX_PUBLIC_URL", default="http://127.0.0.1:8000")
SPECTACULAR_SETTINGS = openapi.spectacular(ANEX_PUBLIC_URL)
# Where clients reach the API of the other region; requests for data that is kept there are sent to it.
ANEX_OTHER_REGION_URL = env.str("ANEX_OTHER_REGION_URL", default="")

# Objects live in S3 when a bucket is named, else on the local disk under ANEX_STORAGE_DIR.
ANEX_S3_BUCKET = env.str("ANEX_S3_BUCKET", default="")
ANEX_S3_ENDPOINT_URL = env.str("ANEX_S3_ENDPOINT_URL", default="")
ANEX_S3_REGION = env.str("ANEX_S3_REGION", default="us-east-1")
ANEX_STORAGE_DIR = Path(env.str("ANEX_STORAGE_DIR", default=str(VAR_DIR / "objects")))

if ANEX_S3_BUCKET:
    # Browsers upload straight to the bucket; its CORS rules must allow POST from ANEX_PUBLIC_URL.
    _buckets = (
        [ANEX_S3_ENDPOINT_URL]
        if ANEX_S3_ENDPOINT_URL
        else [
            f"https://{ANEX_S3_BUCKET}.s3.amazonaws.com",
            f"https://{ANEX_S3_BUCKET}.s3.{ANEX_S3_REGION}.amazonaws.com",
        ]
    )
    CONTENT_SECURITY_POLICY["DIRECTIVES"]["connect-src"] = ["'self'", *_buckets]
    CONTENT_SECURITY_POLICY["DIRECTIVES"]["form-action"] += _buckets

# Payments go through Stripe when its key is named; its events come to /billing/webhooks/stripe.
ANEX_STRIPE_SECRET_KEY = env.str("ANEX_STRIPE_SECRET_KEY", default="")
ANEX_STRIPE_WEBHOOK_SECRET = env.str("ANEX_STRIPE_WEBHOOK_SECRET", default="")
ANEX_STRIPE_API_BASE = env.str("ANEX_STRIPE_API_BASE", default="https://api.stripe.com")
# Our own payment page, on which no money moves: anyone who signs up can give themselves credits.
ANEX_LOCAL_PAYMENTS = env.bool("ANEX_LOCAL_PAYMENTS", default=False)
if ANEX_STRIPE_SECRET_KEY:
    # The form of a top-up is answered with a redirect to Stripe's page.
    CONTENT_SECURITY_POLICY["DIRECTIVES"]["form-action"].append("https://checkout.stripe.com")

# A folder of models that are not part of the platform, and in it `prices` with what they cost: docs/add-a-model.md
ANEX_MODELS_DIR = Path(_models) if (_models := env.str("ANEX_MODELS_DIR", default="")) else None

# A folder of pages that only an operator can write (terms, privacy, support, a blog …): /docs/self-hosting
ANEX_SITE_DIR = Path(_site) if (_site := env.str("ANEX_SITE_DIR", default="")) else None

# Seconds without a heartbeat after which a worker's chunks may be claimed by another.
ANEX_LEASE_SECONDS = env.float("ANEX_LEASE_SECONDS", default=30.0)

# What a worker of the queue inference.<model> starts its model server with: options of `manage.py engine`, as one text.
ANEX_ENGINE_OPTIONS = env.str("ANEX_ENGINE_OPTIONS", default="")
# What reads /metrics presents it as a bearer token; without one there is no such page.
ANEX_METRICS_TOKEN = env.str("ANEX_METRICS_TOKEN", default="")

_log_level = env.str("ANEX_LOG_LEVEL", default="INFO")
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "anex.core.logging.RedactingFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
        "json": {"()": "anex.core.logging.JsonFormatter"},
    },
    "filters": {"clients": {"()": "anex.core.logging.ClientsFaults"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["clients"]}},
    "root": {"handlers": ["console"], "level": _log_level},
    # uvicorn tells of each request and socket with its query, and at DEBUG of what heads hold.
    "loggers": {
        "uvicorn.error": {"level": "INFO" if _log_level == "DEBUG" else _log_level},
        "uvicorn.access": {"handlers": [], "propagate": False},
        "uvicorn.sockets": {"level": "WARNING"},
    },
}
