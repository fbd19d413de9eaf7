"""The load generator and the stand-in for a model server, compiled from rust/ where a compiler is found."""

import shutil
import subprocess
from pathlib import Path

SOURCES = Path(__file__).with_name("rust")
# Ignored by git: what is compiled and what is installed to be compared with.
CACHE = Path(__file__).resolve().parents[3] / "var" / "bench" / "gateway"


class Missing(Exception):
    """What the benchmark needs is not here; the message is a sentence."""


def compiled(name: str) -> Path:
    """The program of that name, compiled again where a source is newer. Raises Missing without rustc."""
    program, sources = CACHE / "bin" / name, sorted(SOURCES.glob("*.rs"))
    if program.exists() and program.stat().st_mtime >= max(source.stat().st_mtime for source in sources):
        return program
    if not (rustc := shutil.which("rustc")):
        raise Missing("The load generator and the stand-in server are Rust: install rustc (Debian: apt install rustc).")
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [rustc, "--edition", "2021", "-O", str(SOURCES / f"{name}.rs"), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"{name}.rs does not compile: {done.stderr}")
    return program
