"""A file on its way to the server. A form upload cannot go on where it broke off: it is sent once more, whole.

What did arrive is remembered with the file's name, size and time, so that a command that is repeated uploads nothing.
"""

import io
import json
import os
import secrets
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

import httpx

from anex.cli.client import Client, reached, refusal, wait
from anex.cli.failures import Exit, Failure
from anex.cli.screen import screen, size

FORMATS: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
MOST_BYTES: Final = 1024**3
_ATTEMPTS: Final = 3
_LOOKED_AT: Final = 20
_REMEMBERED: Final = 100
_PASSING: Final = frozenset({500, 502, 503, 504})


def store(client: Client, path: Path) -> str:
    """The input that holds the file: one that an earlier command uploaded, or a new one."""
    name = _fingerprint(client.url, path)
    if (known := _remembered().get(name)) and _is_ready(client, known):
        screen.tell(f"{path.name} is on the server already: nothing is uploaded.")
        return str(known)
    length = path.stat().st_size
    if length > MOST_BYTES:
        raise Failure(f"{path} has {size(length)}: a job takes files of up to {size(MOST_BYTES)}.")
    format = format_of(path)
    if format == "jsonl":
        _check_beginning(path)
    created = client.create("/batch/v1/inputs", {"format": format})
    _send(created["upload_url"], created["fields"], path)
    _remember(name, created["id"])
    return str(created["id"])


def format_of(path: Path) -> str:
    """What a file holds, by the end of its name. Raises Failure (USAGE)."""
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        raise Failure(
            f"{path.name} must end with {', '.join(FORMATS)}: that says what it holds.", exit_status=Exit.USAGE
        ) from None


def _check_beginning(path: Path) -> None:
    """Look at the first rows before any byte is sent; the server checks every one. Raises Failure."""
    with path.open("rb") as file:
        for number, line in enumerate(islice(file, _LOOKED_AT), start=1):
            if line.isspace():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise Failure(f"Line {number} of {path.name} is no JSON: {error}. Nothing was uploaded.") from None
            if not isinstance(row, dict) or not isinstance(row.get("custom_id"), str):
                raise Failure(f"Line {number} of {path.name} is no object with a custom_id. Nothing was uploaded.")


def _send(url: str, fields: dict[str, str], path: Path) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with screen.transfer(f"uploading {path.name}", path.stat().st_size) as bar, path.open("rb") as file:
                return _post(url, fields, path.name, _Watched(file, bar.advance))
        except Failure as failure:
            if attempt == _ATTEMPTS or failure.exit_status != Exit.TRY_LATER:
                raise
            wait(attempt, None, f"{failure.message} The file is sent again from its beginning.", screen.tell)
    raise AssertionError


def _post(url: str, fields: dict[str, str], name: str, file: BinaryIO) -> None:
    # No header of the account: the form is signed, and the store may be another host.
    with reached(httpx.URL(url).host), httpx.Client(timeout=httpx.Timeout(60, read=600)) as http:
        answer = http.post(url, data=fields, files={"file": (name, file, "application/octet-stream")})
    if answer.status_code >= 300:
        raise refusal(answer)


class _Watched(io.BufferedReader):
    """A file that tells how much of it was read."""

    def __init__(self, file: BinaryIO, told: Callable[[int], None]) -> None:
        super().__init__(file)  # type: ignore[arg-type]
        self._told = told

    def read(self, size: int | None = -1, /) -> bytes:
        """As the file's."""
        piece = super().read(size)
        self._told(len(piece))
        return piece


def _is_ready(client: Client, input_id: str) -> bool:
    try:
        return bool(client.get(f"/batch/v1/inputs/{input_id}")["status"] == "ready")
    except Failure as failure:
        if failure.status in (404, 410):
            return False
        raise


def _fingerprint(url: str, path: Path) -> str:
    facts = path.stat()
    return f"{url} {path.resolve()} {facts.st_size} {facts.st_mtime_ns}"


def _file() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anex" / "uploads.json"


def _remembered() -> dict[str, Any]:
    try:
        found = json.loads(_file().read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _remember(name: str, input_id: str) -> None:
    """Best effort: without it a repeated command uploads again."""
    known = _remembered()
    known.pop(name, None)
    kept = dict([*known.items(), (name, input_id)][-_REMEMBERED:])
    path = _file()
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
            json.dump(kept, written)
        fresh.replace(path)
    except OSError:
        return
