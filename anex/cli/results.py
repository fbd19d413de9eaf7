"""`anex download`."""

from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID

import httpx
import typer

from anex.cli.account import current
from anex.cli.client import ATTEMPTS, Client, reached, refusal, wait
from anex.cli.failures import Exit, Failure
from anex.cli.options import AsJson, JobId
from anex.cli.screen import count, screen, size

_BLOCK: Final = 256 * 1024

Target = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where to; the job's id in this folder if left out.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]


def download(job: JobId, output: Target = None, force: Force = False, as_json: AsJson = False) -> None:
    """Download a job's result file.

    What a broken download has left beside it, as .part, is gone on with. The file appears under its name once its size
    and its rows are what the server says.
    """
    with Client(current(), screen.tell) as client:
        link = _link(client, job)
        path = _path(link, output)
        if path.exists() and not force:
            raise Failure(f"{path} is there already. Add --force to replace it.", exit_status=Exit.USAGE)
        # A job's result never changes, so its id says which file the part is of.
        part = path.with_name(f"{path.name}.{link['id']}.part")
        length = _fetch(client, link, part)
    rows = link["row_count"]
    if rows is not None and _ending(link) == ".jsonl":
        _check_rows(part, rows)
    part.replace(path)
    document = {"job": link["id"], "file": str(path), "bytes": length, "rows": rows, "partial": link["partial"]}
    lines = "" if rows is None else f", {count(rows)} rows"
    screen.answer(document, f"{path} ({size(length)}{lines})")
    if link["partial"]:
        screen.tell(f"The job is {link['status']}: these are the rows it had finished.")


def _link(client: Client, job: str) -> dict[str, Any]:
    """Where the result is. What the server calls the job becomes a file's name, so it must be an id and no path."""
    link: dict[str, Any] = client.get(f"/batch/v1/jobs/{job}/result")
    try:
        UUID(link["id"])
    except ValueError:
        raise Failure("The server does not name the job by an id. Nothing was downloaded.") from None
    return link


def _path(link: dict[str, Any], output: Path | None) -> Path:
    name = f"{link['id']}{_ending(link)}"
    path = output or Path(name)
    return path / name if path.is_dir() else path


def _ending(link: dict[str, Any]) -> str:
    return Path(httpx.URL(link["result_url"]).path).suffix


def _fetch(client: Client, link: dict[str, Any], part: Path) -> int:
    """Append to the part what it lacks; the file's bytes. Gives up after some attempts that brought nothing."""
    attempt = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            return _append(link["result_url"], part, before)
        except Failure as failure:
            grown = part.exists() and part.stat().st_size > before
            attempt = 1 if grown else attempt + 1
            # A link lasts an hour: a slow download outlives it.
            stale = failure.status in (400, 403)
            if attempt == ATTEMPTS or not (stale or failure.exit_status == Exit.TRY_LATER):
                raise
            wait(attempt, None, failure.message, screen.tell)
            link = _link(client, link["id"]) if stale else link


def _append(url: str, part: Path, begun: int) -> int:
    # No header of the account: the link is signed, and the store may be another host.
    asked = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={begun}-"} if begun else {})
    with reached(httpx.URL(url).host), httpx.stream("GET", url, headers=asked, timeout=60) as answer:
        if answer.status_code == 416:
            # There is nothing behind what is here already; begin anew where that is not the whole file.
            total = answer.headers.get("Content-Range", "").rpartition("/")[2]
            if total == str(begun) or _length(url) == begun:
                return begun
            part.unlink()
            raise Failure("The part that was here is not of this file.", exit_status=Exit.TRY_LATER)
        if answer.status_code >= 300:
            answer.read()
            raise refusal(answer)
        going_on = answer.status_code == 206
        total = _total(answer, begun if going_on else 0)
        with (
            part.open("ab" if going_on else "wb") as file,
            screen.transfer("downloading", total, begun if going_on else 0) as bar,
        ):
            # As it comes: what is waited for to fill a block would be lost with the connection.
            for block in answer.iter_raw():
                file.write(block)
                bar.advance(len(block))
    found = part.stat().st_size
    if found != total:
        raise Failure(f"The download broke off at {size(found)} of {size(total)}.", exit_status=Exit.TRY_LATER)
    return found


def _total(answer: httpx.Response, begun: int) -> int:
    length = answer.headers.get("Content-Length", "")
    if not length.isdecimal():
        raise Failure(f"{answer.request.url.host} does not say how long the file is. Nothing was downloaded.")
    return begun + int(length)


def _length(url: str) -> int:
    """The bytes of the whole file, of which the first is asked for: a signed link is for GET alone."""
    answer = httpx.get(url, headers={"Range": "bytes=0-0"}, timeout=60)
    total = answer.headers.get("Content-Range", "").rpartition("/")[2]
    return int(total) if total.isdecimal() else -1


def _check_rows(part: Path, rows: int) -> None:
    with part.open("rb") as file:
        found = sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))
    if found != rows:
        part.unlink()
        raise Failure(f"The file has {found:,} rows, and the server says {rows:,}. Run the command again.")
