"""A web process of the platform on the tests' database, and the letters it sent."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from pathlib import Path

from tests.web import Web


class Site:
    """`url` is where browsers reach it, `storage` its store of objects."""

    def __init__(self, web: Web, folder: Path) -> None:
        self.url = web.url
        self.storage, self._mail = folder / "objects", folder / "mail"

    def letters(self, to: str) -> list[str]:
        """Texts of what was sent to an address, oldest first."""
        found = []
        for path in sorted(self._mail.glob("*.log")):
            for raw in path.read_bytes().split(b"-" * 79 + b"\n"):
                letter = message_from_bytes(raw.strip(), policy=policy.default)
                if to in str(letter["To"]):
                    found.append(str(letter.get_content()))
        return found

    def link_to(self, to: str) -> str:
        """The last link in the last letter to an address."""
        links = re.findall(r"https?://\S+", self.letters(to)[-1])
        return links[-1]

    def clear(self) -> None:
        """Throw away every letter."""
        for path in self._mail.glob("*.log"):
            path.unlink()


@contextmanager
def running(folder: Path) -> Iterator[Site]:
    """Serve until the end of the block; the process logs to `web.log` in the folder."""
    environment = {
        "DJANGO_SETTINGS_MODULE": "tests.browser.settings",
        "EMAIL_URL": f"filemail:///{folder / 'mail'}",
        "ANEX_STORAGE_DIR": str(folder / "objects"),
    }
    # A name: passkeys work on no bare address.
    web = Web(folder / "web.log", host="localhost", environment=environment)
    web.wait()
    yield Site(web, folder)
    web.stop()
