"""Sends attacks and judges what comes back."""

import http.client
import re
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from anex.refusals import API_PATHS
from tests.hostile.attacks import Attack

# Longer than any answer may take.
PATIENCE_S = 20
# What a stack, a template or a database of ours would say of itself.
INSIDES = re.compile(
    rb"Traceback \(most recent|File \"/|site-packages|psycopg|django\.(?:core|db|http)|OperationalError|/\w+\.py"
)
# Pages of texts that speak of such things themselves.
ABOUT_THEM = ("/docs", "/blog", "/models", "/openapi", "/llms")
REFUSED_LATER = (501, 502, 503)


@dataclass
class Answer:
    """What came back; status 0 where the connection was closed instead."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    content: bytes = field(default=b"", repr=False)

    def header(self, name: str) -> str:
        return next((value for told, value in self.headers if told.lower() == name), "")


class Sender:
    """A client that changes nothing of what it is given to send."""

    def __init__(self, origin: str) -> None:
        self.address = urlsplit(origin).netloc
        self.cookie = ""
        self.person: dict[str, str] = {}
        self.key: dict[str, str] = {}
        self._connection = http.client.HTTPConnection(self.address, timeout=PATIENCE_S)

    def close(self) -> None:
        """Send nothing more."""
        self._connection.close()

    def send(self, attack: Attack) -> Answer:
        """Send it as whoever the surface knows: the holder of a key, or the person signed in."""
        own = self.key if attack.target.startswith(API_PATHS) else self.person | {"Cookie": self.cookie}
        headers = {"Host": self.address, **own} | dict(attack.headers)
        connection = self._connection
        try:
            connection.putrequest(attack.method, attack.target, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value.encode("latin-1"))
            if attack.content:
                connection.putheader("Content-Length", str(len(attack.content)))
            connection.endheaders()
            # It may be refused before it is all there.
            with suppress(ConnectionError):
                connection.send(attack.content)
            answer = connection.getresponse()
            return Answer(answer.status, answer.getheaders(), answer.read())
        except (ConnectionError, http.client.BadStatusLine):
            connection.close()
            return Answer(0)


def fault(attack: Attack, answer: Answer, *, secrets: list[str], own: tuple[str, ...]) -> str:
    """What is wrong with the answer; nothing where it is as it should be. `own` are origins that are ours."""
    if answer.status == 0:
        return "" if len(attack.content) > 1_000_000 else "closed without an answer"
    is_api = attack.target.startswith(API_PATHS)
    if answer.status >= 500 and not (is_api and answer.status in REFUSED_LATER):
        return f"answered {answer.status}"
    if answer.header("x-forged"):
        return "a header was forged"
    target = answer.header("location")
    if target.startswith(("http", "//", "/\\", "javascript")) and not target.startswith(own):
        return f"leads to {target[:60]}"
    if answer.status >= 400 and not attack.target.startswith(ABOUT_THEM) and (found := INSIDES.search(answer.content)):
        return f"tells {found[0]!r}"
    if any(secret.encode() in answer.content for secret in secrets):
        return "tells a secret"
    if answer.header("x-content-type-options") != "nosniff" and answer.status != 400:
        return "is not protected"
    if b"<script>alert(1)" in answer.content and "html" in answer.header("content-type"):
        return "repeats a script"
    return ""
