"""The command line of the scripted engine, as one frozen value."""

import argparse
from dataclasses import dataclass
from pathlib import Path

USAGE_KINDS = ("exact", "absent", "null", "zero", "negative", "absurd", "nan", "text")


@dataclass(frozen=True, slots=True)
class Options:
    """How the server behaves for every request; each `*_every` is 0 (never) or N (every Nth request)."""

    port: int
    host: str = "127.0.0.1"
    served_names: tuple[str, ...] = ()
    api_key: str = ""
    journal: Path | None = None
    fail_every: int = 0
    throttle_every: int = 0
    retry_after_ms: int = 20
    drop_every: int = 0
    cut_every: int = 0
    die_every: int = 0
    delay_ms: int = 0
    usage: str = "exact"
    max_model_len: int = 32_768
    dimensions: int = 384


def parse(arguments: list[str] | None = None) -> Options:
    """Read the command line; argparse exits with a sentence when it is wrong."""
    parser = argparse.ArgumentParser(prog="python -m inference.engines.scripted", description=__doc__)
    add = parser.add_argument
    add("--port", type=int, required=True)
    add("--host", default="127.0.0.1")
    add("--served-name", dest="served_names", action="append", default=[], help="refuse every other model (repeatable)")
    add("--api-key", default="", help="refuse requests without this bearer key")
    add("--journal", type=Path, help="append one line per request received")
    add("--fail-every", type=int, default=0, help="answer 500 to every Nth request")
    add("--throttle-every", type=int, default=0, help="answer 429 to every Nth request")
    add("--retry-after-ms", type=int, default=20, help="what a 429 or 503 asks the client to wait")
    add("--drop-every", type=int, default=0, help="close the connection of every Nth request unanswered")
    add("--cut-every", type=int, default=0, help="close the connection of every Nth request in mid-answer")
    add("--die-every", type=int, default=0, help="end the process in mid-answer of every Nth request")
    add("--delay-ms", type=int, default=0, help="wait before every answer")
    add("--usage", choices=USAGE_KINDS, default="exact", help="what the usage field reports")
    add("--max-model-len", type=int, default=32_768, help="context in tokens")
    add("--dimensions", type=int, default=384, help="width of embeddings")
    values = vars(parser.parse_args(arguments))
    return Options(**{**values, "served_names": tuple(values["served_names"])})
