"""Where this installation lies, and the reader of its environment."""

from pathlib import Path

import environ

from anex.core.variables import variables

BASE_DIR = Path(__file__).resolve().parents[2]
VAR_DIR = BASE_DIR / "var"


class _Environment(environ.Env):
    ENVIRON = variables


env = _Environment()
