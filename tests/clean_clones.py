"""The commands from clean clones with an empty environment, once per supported Python that is found.

Run by `make test-all`. Prints what it does; the exit status is 1 when any clone fails.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13")
COMMANDS = ('make demo ARGS="--once --port 8931"', "make test", "make fuzz", "make leavers")
# What is told apart by the versions of clients, not by ours.
ONCE = ("make test-clients",)
# Whom npm trusts besides its own list, where a machine names somebody; pip has a file for it.
KEPT = ("PATH", "NODE_EXTRA_CA_CERTS")


def main() -> int:
    """Clone, run, remove."""
    found = [name for name in PYTHONS if _runs(name)]
    failed = [
        f"{name}: {command}"
        for index, name in enumerate(found)
        for command in _failures(name, COMMANDS if index else COMMANDS + ONCE)
    ]
    print(f"\nTried: {', '.join(found)}.", "All passed." if not failed else f"Failed: {'; '.join(failed)}.")
    return 1 if failed or not found else 0


def _runs(name: str) -> bool:
    """Whether this name is a Python that can make virtual environments (a shim of an absent version is none)."""
    if shutil.which(name) is None:
        return False
    return subprocess.run([name, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0


def _failures(name: str, commands: tuple[str, ...]) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="anex clone ", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        clone = Path(folder) / "anex"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        return [command for command in commands if not _passes(f"{command} PYTHON={name}", clone)]


def _passes(command: str, clone: Path) -> bool:
    print(f"\n$ {command}    in {clone}", flush=True)
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    return subprocess.run(["/bin/sh", "-c", command], cwd=clone, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
