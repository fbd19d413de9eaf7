"""How an installation is set up: secrets, hosts, mail, and what Django's own checks say."""

import importlib.util
import smtplib
import socket
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks, mail
from django.core.mail.backends.smtp import EmailBackend
from django.http.request import validate_host

from accounts import second_factor
from anex.core import tracing
from anex.doctor.findings import Finding, broken, ok, warning
from jobs.services import messages

_PATIENCE_S: Final = 5.0
_EXAMPLE: Final = "development-only-key"
_CONSOLE: Final = "django.core.mail.backends.console.EmailBackend"


def is_production() -> bool:
    """Whether these are the settings for customers."""
    return bool(settings.SETTINGS_MODULE == "anex.settings.production")


def secrets() -> Iterator[Finding]:
    """Whether what must be secret is, and what must be set."""
    if not is_production():
        told = f"the settings are {settings.SETTINGS_MODULE}"
        yield warning("settings", told, "For customers set DJANGO_SETTINGS_MODULE=anex.settings.production.")
    if settings.SECRET_KEY.startswith(_EXAMPLE):
        yield warning("secret key", "it is the example's", "Set SECRET_KEY to 50 random characters or more.")
    else:
        yield ok("secret key", "it is one of its own")
    if not settings.ANEX_METRICS_TOKEN:
        yield warning("metrics", "nobody can read /metrics", "Set ANEX_METRICS_TOKEN, and Prometheus to present it.")
    else:
        yield ok("metrics", "/metrics has a token")
    if is_production() and settings.ANEX_LOCAL_PAYMENTS:
        remedy = "Unset ANEX_LOCAL_PAYMENTS: whoever signs up can give themselves credits."
        yield broken("payments", "the page on which no money moves is open", remedy)
    elif is_production() and settings.ANEX_STRIPE_SECRET_KEY.startswith("sk_test_"):
        yield warning("payments", "Stripe's key is one for tests", "Set the live key in ANEX_STRIPE_SECRET_KEY.")


def sealed() -> Iterator[Finding]:
    """Whether SECRET_KEY opens what is kept in the database."""
    if not messages.can_be_signed() or not second_factor.can_be_opened():
        told = "it does not open what the database holds: webhooks fail, and second factors"
        yield broken("secret key", told, "Set the SECRET_KEY of before, or name it in SECRET_KEY_FALLBACKS.")


def hosts() -> Iterator[Finding]:
    """Whether this installation answers to the address it tells, and knows that of the other region."""
    address = urlsplit(settings.ANEX_PUBLIC_URL)
    if not address.hostname or address.scheme not in ("http", "https"):
        yield broken("hosts", "ANEX_PUBLIC_URL is no address", "Set it like https://anex.example.")
    elif not validate_host(address.hostname, settings.ALLOWED_HOSTS):
        yield broken("hosts", f"{address.hostname} is not answered to", "Add it to ALLOWED_HOSTS.")
    elif is_production() and address.scheme != "https":
        yield broken("hosts", "ANEX_PUBLIC_URL is not encrypted", "Set an https address.")
    else:
        yield ok("hosts", f"{settings.ANEX_PUBLIC_URL} is answered to")
    other = urlsplit(settings.ANEX_OTHER_REGION_URL)
    remedy = "Set ANEX_OTHER_REGION_URL to the address of the other region's API (docs/regions.md)."
    if other.netloc and other.netloc == address.netloc:
        yield broken("hosts", "requests for the other region are sent back to this one", remedy)
    elif settings.ANEX_REGION == "eu" and not other.netloc:
        yield broken("hosts", "requests for the other region are answered 503", remedy)


def e_mail() -> Iterator[Finding]:
    """Whether e-mails reach a server."""
    if settings.EMAIL_BACKEND == _CONSOLE:
        yield warning("mail", "e-mails are printed into the log", "Set EMAIL_URL: invitations and sign-up need it.")
        return
    backend = mail.get_connection()
    if not isinstance(backend, EmailBackend):
        yield ok("mail", f"e-mails go to {type(backend).__module__.rpartition('.')[2]}")
        return
    try:
        backend.open()
        backend.close()
    except (OSError, smtplib.SMTPException) as error:
        remedy = "Check the host, the port and the password in EMAIL_URL."
        yield broken("mail", f"the server refuses: {type(error).__name__}", remedy)
    else:
        yield ok("mail", f"{settings.EMAIL_HOST} takes the sign-in")


def traces() -> Iterator[Finding]:
    """Where a collector is named, whether spans can reach it."""
    if not tracing.is_wanted():
        return
    if importlib.util.find_spec("opentelemetry") is None:
        told = "a collector is named and OpenTelemetry is not installed: no process starts"
        yield broken("traces", told, "Run: pip install -r requirements-traces.txt, or name no collector.")
        return
    address = urlsplit(tracing.endpoint())
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), _PATIENCE_S).close()
    except OSError as error:
        remedy = "Check OTEL_EXPORTER_OTLP_ENDPOINT; it takes OTLP over HTTP, mostly on port 4318."
        yield warning("traces", f"the collector cannot be reached: {type(error).__name__}", remedy)
    else:
        yield ok("traces", "the collector takes connections")


def framework() -> Iterator[Finding]:
    """What the platform's and Django's checks say; those of a deployment only where it is one."""
    found = checks.run_checks(include_deployment_checks=is_production())
    for message in found:
        remedy = message.hint or "See the message."
        made = broken if message.level >= checks.ERROR else warning
        yield made("checks", f"({message.id}) {message.msg}", remedy)
    if not found:
        yield ok("checks", "Django and the platform find nothing")
