"""Whether the memory of the processes stays flat while one goes on asking."""

from collections import Counter
from pathlib import Path

from tests.bench.gateway import books
from tests.bench.gateway.processes import pss_mib
from tests.bench.gateway.shots import Shot, Target, fire

CLIENTS = 64
_STEPS = 10


def watch(load: Path, target: Target, upstream: int, requests: int) -> tuple[list[dict[str, float]], Counter[str]]:
    """MiB by process before, and after every tenth of so many chat requests; and what the server answered."""
    seen, before = [usage(target)], books.answered(upstream)
    for _ in range(_STEPS):
        fire(load, target, Shot("chat", CLIENTS, requests // _STEPS), 0)
        seen.append(usage(target))
        print("memory:", ", ".join(f"{name} {mib:.1f} MiB" for name, mib in seen[-1].items()), flush=True)
    return seen, books.answered(upstream) - before


def usage(target: Target) -> dict[str, float]:
    """MiB now, by process."""
    return {name: pss_mib([pid]) for name, pid in target.pids.items()}
