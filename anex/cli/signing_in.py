"""`anex login` and `anex logout`."""

import getpass
import sys
from typing import Annotated
from urllib.parse import urlsplit

import typer

from anex.cli import account
from anex.cli.account import Account
from anex.cli.client import Client
from anex.cli.failures import Exit, Failure
from anex.cli.options import AsJson
from anex.cli.screen import screen
from anex.core.money import NANO_PER_CENT, format_dollars

Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="The server, like https://anex.example.", show_default=False),
]
_HERE = ("localhost", "127.0.0.1", "::1")


def login(url: Url = None, as_json: AsJson = False) -> None:
    """Keep a key for the commands that follow, in a file only you can read.

    The key is asked for, or read from stdin: anex login < key.txt. It is never an argument, which other people of the
    machine could see.
    """
    at = account.origin(url or account.suggested_url())
    key = _asked(at) if sys.stdin.isatty() else sys.stdin.readline().strip()
    if not key:
        raise Failure("No key was given. Make one on the console's page API keys.", exit_status=Exit.USAGE)
    if at.startswith("http:") and urlsplit(at).hostname not in _HERE:
        screen.tell(f"{at} is not encrypted: whoever is on the way can read the key.")
    found = Account(at, key)
    with Client(found, screen.tell) as client:
        balance = client.get("/v1/balance")
    path = account.keep(found)
    document = {"url": at, "file": str(path), "available_cents": balance["available"]}
    available = format_dollars(round(balance["available"] * NANO_PER_CENT))
    screen.answer(document, f"Signed in at {at}, with {available} available. The key is kept in {path}.")


def logout(as_json: AsJson = False) -> None:
    """Remove the key that anex login kept from this machine. It stays valid until it is revoked in the console."""
    removed = account.forget()
    screen.answer({"removed": removed}, "The key is removed." if removed else "No key was kept.")


def _asked(at: str) -> str:
    screen.tell(f"Make a key at {at}/keys and paste it here; it is not shown.")
    return getpass.getpass("Key: ").strip()
