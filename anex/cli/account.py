"""Which server a command talks to and with which key: ANEX_BASE_URL and ANEX_API_KEY, else what `anex login` kept.

A kept key is sent to the server it was kept for, and to no other.
"""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from anex.cli.failures import Exit, Failure

URL, KEY = "ANEX_BASE_URL", "ANEX_API_KEY"
DEFAULT_URL: Final = "http://127.0.0.1:8000"
# What people copy out of the settings of other clients.
_PATHS: Final = ("/openai/v1", "/batch/v1", "/realtime/v1", "/v1")


@dataclass(frozen=True, slots=True)
class Account:
    """A server's address without a path, and a key of an organization there."""

    url: str
    key: str


def current() -> Account:
    """The account of a command. Raises Failure (NO_KEY) where there is none."""
    kept, key = _kept(), os.environ.get(KEY, "")
    url = origin(os.environ[URL]) if os.environ.get(URL) else kept.url if kept else DEFAULT_URL
    if key:
        return Account(url, key)
    if kept is None:
        raise Failure(f"There is no key. Run anex login, or set {KEY}.", exit_status=Exit.NO_KEY)
    if kept.url != url:
        raise Failure(
            f"The key that is kept is for {kept.url}, not for {url}. Run anex login, or set {KEY}.",
            exit_status=Exit.NO_KEY,
        )
    return kept


def suggested_url() -> str:
    """The server that a sign-in begins with."""
    kept = _kept()
    return origin(os.environ[URL]) if os.environ.get(URL) else kept.url if kept else DEFAULT_URL


def origin(text: str) -> str:
    """A server's address as people write it, without a path. Raises Failure for what is no address."""
    text = text.strip().rstrip("/")
    for path in _PATHS:
        if text.endswith(path):
            text = text.removesuffix(path)
            break
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise Failure(f"The address must be like https://anex.example, not {text}.", exit_status=Exit.USAGE)
    return text


def keep(account: Account) -> Path:
    """Write the account into a file that only its owner can read; where it is."""
    path = file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
        json.dump({"url": account.url, "key": account.key}, written)
    fresh.replace(path)
    return path


def forget() -> bool:
    """Remove the file; whether there was one."""
    try:
        file().unlink()
    except FileNotFoundError:
        return False
    return True


def file() -> Path:
    """Where `anex login` keeps the key."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "anex" / "credentials.json"


def _kept() -> Account | None:
    path = file()
    try:
        found = json.loads(path.read_text())
        return Account(found["url"], found["key"])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}.", exit_status=Exit.NO_KEY) from error
    except (ValueError, KeyError, TypeError):
        raise Failure(f"{path} is damaged. Run anex login again.", exit_status=Exit.NO_KEY) from None
