"""One measurement: a target under so many clients for some seconds, and the processor time it took."""

import json
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.bench.gateway.processes import cpu_seconds

ANSWER_TOKENS: Final = 64
STREAM_CHUNKS: Final = 200
STREAMS: Final = 64
_SENTENCE = "Summarise the following support ticket in one sentence. The customer reports that exports fail. "
PROMPT = (_SENTENCE * 6)[:512]
# What a target does after the last answer (bills are settled in groups) counts too.
_SETTLED_S = 0.5


@dataclass(frozen=True)
class Target:
    """Where requests are sent, and the processes (by name) that it needs; none where it is not counted."""

    name: str
    port: int
    key: str
    pids: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Shot:
    """What is asked for by how many clients: `count` requests, or where that is 0 as many as its seconds allow."""

    test: str
    clients: int
    count: int = 0

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.test} at {self.clients}"

    @property
    def is_streamed(self) -> bool:
        """Whether chunks are counted, and not requests."""
        return self.test in ("stream", "paced")


def plan(tests: list[str], crowds: list[int]) -> list[Shot]:
    """The shots of a round."""
    shots = []
    for test in tests:
        if test in ("chat", "embed"):
            shots += [Shot(test, clients) for clients in crowds]
        else:
            shots.append(Shot(test, STREAMS, STREAMS if test == "paced" else 0))
    return shots


def _request(shot: Shot) -> tuple[str, dict[str, Any], list[str]]:
    """Path, body, and how the load generator knows a whole answer."""
    if shot.test == "embed":
        body = {"model": "fake-embed", "input": [PROMPT], "encoding_format": "float"}
        return "/v1/embeddings", body, ["--expect", '"embedding"']
    messages = [{"role": "system", "content": "You are terse."}, {"role": "user", "content": PROMPT}]
    body = {"model": "fake", "messages": messages, "max_tokens": ANSWER_TOKENS, "temperature": 0.2}
    if not shot.is_streamed:
        return "/v1/chat/completions", body, ["--expect", f"tok{ANSWER_TOKENS - 1}"]
    body |= {"max_tokens": STREAM_CHUNKS, "stream": True}
    if shot.test == "paced":
        body["model"] = "fake-paced"
    return "/v1/chat/completions", body, ["--chunks", str(STREAM_CHUNKS)]


def fire(load: Path, target: Target, shot: Shot, seconds: float) -> dict[str, Any]:
    """Run the load generator; its figures with `sent` (the warm-up included) and `cpu`: seconds per 1,000 requests, or
    per 100,000 chunks of streams, by process."""
    path, body, whole = _request(shot)
    warm_up = 8 if shot.is_streamed else max(20, 2 * shot.clients)
    command = [str(load), "--port", str(target.port), "--path", path, "--key", target.key, "--body", json.dumps(body)]
    command += [*whole, "--clients", str(shot.clients), "--warm-up", str(warm_up)]
    command += ["--requests", str(shot.count)] if shot.count else ["--seconds", str(seconds)]
    before = {name: cpu_seconds([pid]) for name, pid in target.pids.items()}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=1800)
    time.sleep(_SETTLED_S)
    after = {name: cpu_seconds([pid]) for name, pid in target.pids.items()}
    found: dict[str, Any] = json.loads(done.stdout)
    found["sent"] = found["served"] + found["errors"] + warm_up
    units = found["chunks"] + warm_up * STREAM_CHUNKS if shot.is_streamed else found["sent"]
    unit = 100_000 if shot.is_streamed else 1_000
    found["cpu"] = {name: (after[name] - before[name]) * unit / max(units, 1) for name in before}
    return found
