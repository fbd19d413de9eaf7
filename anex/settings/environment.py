"""Where this installation lies, and the reader of its environment."""

from pathlib import Path

import environ

BASE_DIR = Path(__file__).resolve().parents[2]
VAR_DIR = BASE_DIR / "var"

env = environ.Env()
