"""`anex doctor`: what whoever holds a key can see of a server, and what to do where something is wrong."""

import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

import httpx
import typer

from anex.cli.account import Account, current
from anex.cli.client import Client, reached
from anex.cli.failures import Exit, Failure
from anex.cli.options import AsJson
from anex.cli.screen import screen, table
from anex.core.money import NANO_PER_CENT, format_dollars

# Links to uploads and results are signed with a time.
_CLOCK_S: Final = 60
_PATIENCE_S: Final = 10
_FAILED: Final = 500


class Finding(NamedTuple):
    """A line of the answer; `remedy` is empty where it is well."""

    about: str
    told: str
    remedy: str = ""


def doctor(as_json: AsJson = False) -> None:
    """Check the server, the key, the clock, the credits and the models, and say what to do."""
    account = current()
    found = list(_findings(account))
    rows = [(each.about, "look" if each.remedy else "ok", each.told, each.remedy) for each in found]
    screen.answer([each._asdict() for each in found], table(("what", "state", "found", "do"), rows))
    if any(each.remedy for each in found):
        raise typer.Exit(Exit.REFUSED)


def _findings(account: Account) -> Iterator[Finding]:
    try:
        yield _server_and_clock(account)
    except Failure as failure:
        yield Finding("server", failure.message, "Check ANEX_BASE_URL and the way there; ask who runs the server.")
        return
    with Client(account, lambda _: None) as client:
        client.attempts = 1
        for about, look, remedy in _LOOKS:
            try:
                yield look(client)
            except Failure as failure:
                yield Finding(about, failure.message, remedy)


def _server_and_clock(account: Account) -> Finding:
    with reached(account.url):
        answer = httpx.get(f"{account.url}/v1/models", timeout=_PATIENCE_S)
    if answer.status_code >= _FAILED:
        raise Failure(f"{account.url} answers {answer.status_code}.", exit_status=Exit.TRY_LATER)
    told = f"{account.url} answers"
    if "date" not in answer.headers:
        return Finding("server", told)
    apart_s = abs(time.time() - parsedate_to_datetime(answer.headers["date"]).timestamp())
    if apart_s > _CLOCK_S:
        return Finding(
            "clock", f"{apart_s:.0f} s from the server's", "Set this machine's time: links are signed with one."
        )
    return Finding("server", f"{told}, its clock agrees")


def _key(client: Client) -> Finding:
    client.get("/batch/v1/jobs", limit=1)
    return Finding("key", "it opens the batch API")


def _credits(client: Client) -> Finding:
    available = client.get("/v1/balance")["available"]
    told = f"{format_dollars(round(available * NANO_PER_CENT))} are available"
    return Finding("credits", told, "" if available > 0 else "Add credits on the console's page Credits.")


def _models(client: Client) -> Finding:
    count = len(client.get("/v1/models")["data"])
    remedy = "" if count else "Ask who runs the server: none of its models answers at once."
    return Finding("models", f"{count} answer at once", remedy)


_LOOKS: Final[tuple[tuple[str, Callable[[Client], Any], str], ...]] = (
    ("key", _key, "Make a key with the scope batch:read on the console's page API keys, then: anex login"),
    ("credits", _credits, "See the message."),
    ("models", _models, "See the message."),
)
