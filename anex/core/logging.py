"""Log lines with the ids of what they are about and without secrets: whatever looks like a key or a one-time link is
masked, tracebacks included, and so is what Postgres quotes of a row. Nobody's text begins a line of its own.

Lines for programs tell of exceptions where they came from and what they are, and their texts only where these quote
nothing: a KeyError is as good as the word that was looked for.
"""

import logging
import re
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson

from anex.core import log_ids

# What is looked for first, in small letters, since most lines hold nothing of the kind. An API key keeps its id, which
# names it; a link keeps the page it leads to.
_SECRETS = (
    # However much of it is left: paths and answers are cut short.
    ("sk-", re.compile(r"(sk-[A-Za-z0-9]{12})[A-Za-z0-9]+"), r"\1…"),
    ("whsec_", re.compile(r"\b(whsec_)[A-Za-z0-9+/=_-]+"), r"\1…"),
    # What makes a link to a file one that works (S3: presigned URLs, and forms).
    ("x-amz-s", re.compile(r"(x-amz-(?:signature|security-token)(?:=|%3D))[^\s&\"']+", re.IGNORECASE), r"\1…"),
    ("signature=", re.compile(r"([?&]signature=)[^\s&\"']+"), r"\1…"),
    ("k_", re.compile(r"\b([rs]k_(?:live|test)_)\w+"), r"\1…"),
    ("/invitations/", re.compile(r"(/invitations/)[^\s/\"'?]{20,}(?![^\s\"'?]*/)"), r"\1…"),
    ("/accounts/", re.compile(r"(/accounts/(?:password/reset/key|confirm-email)/)[^\s/\"'?]+"), r"\1…"),
    # Who signs in, where a URL says so: of databases, of customers' hosts.
    ("@", re.compile(r"(\w://)[^\s/?#\"'@]*:[^\s/?#\"']*@"), r"\1…@"),
    ("bearer ", re.compile(r"\b(bearer )(?!sk-)[^\s\"',;]+", re.IGNORECASE), r"\1…"),
    ("detail:", re.compile(r"^(DETAIL:).*$", re.MULTILINE), r"\1 …"),
)
# They tell names of files and of our own code.
_TELLING = (OSError, ImportError, AttributeError, NameError, TypeError, RuntimeError, MemoryError)
# Of threads and tasks no line tells.
logging.logThreads = logging.logMultiprocessing = False
if hasattr(logging, "logAsyncioTasks"):
    logging.logAsyncioTasks = False
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


class ClientsFaults(logging.Filter):
    """Django logs what clients do wrong with tracebacks, of which anybody could fill the log: a line has to do."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True; the record may have become a warning without its traceback."""
        is_refusal = record.name == "django.request" and record.levelno <= logging.WARNING
        if is_refusal or record.name.startswith("django.security"):
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.exc_info = record.exc_text = None
        return True


class RedactingFormatter(logging.Formatter):
    """Lines for people: the ids stand behind the message."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """The line without its traceback."""
        about = "".join(f" {name}={value}" for name, value in log_ids.current().items())
        return _CONTROLS.sub(_escaped, super().formatMessage(record) + about)

    def format(self, record: logging.LogRecord) -> str:
        """The line, masked."""
        return redact(super().format(record))


class JsonFormatter(logging.Formatter):
    """Lines for programs: one JSON object each, with `request`, `organization`, `job` and `task` where they are known.

    What a line has in `facts` (a dict, given as `extra`) stands beside them.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The object, masked."""
        line: dict[str, Any] = {
            "time": f"{_second(int(record.created))}.{int(record.created % 1 * 1000):03d}+00:00",
            "level": record.levelname,
            "logger": record.name,
            "message": redact(_message(record)),
            **log_ids.current(),
            "process": record.process,
        }
        for name, value in getattr(record, "facts", {}).items():
            line[name] = redact(value) if isinstance(value, str) else value
        if record.exc_info:
            line["exception"] = redact(_exception(record.exc_info))
        return orjson.dumps(line, default=str).decode()


def _message(record: logging.LogRecord) -> str:
    # asyncio tells beside its sentence the exception itself.
    text = record.getMessage()
    return text.partition("\n")[0] if record.name == "asyncio" else text


def _exception(thrown: Any) -> str:
    told = traceback.TracebackException(*thrown)
    for each in _all(told):
        each.__notes__ = None
        if each.exc_type and not issubclass(each.exc_type, _TELLING):
            each._str = "…"  # type: ignore[attr-defined]
    return "".join(told.format())


def _all(told: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    """It, and what it comes from or holds."""
    yield told
    for below in (told.__cause__, told.__context__, *(getattr(told, "exceptions", None) or ())):
        if below:
            yield from _all(below)


@lru_cache(maxsize=2)
def _second(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).replace(tzinfo=None).isoformat()


def redact(text: str) -> str:
    """The text with every secret masked."""
    small = text.lower()
    for sign, pattern, mask in _SECRETS:
        if sign in small:
            text = pattern.sub(mask, text)
    return text


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
