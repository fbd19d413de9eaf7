"""`make bench-gateway`: Anex beside LiteLLM's proxy, vllm-router and the model server itself, in one run on two cores.

Each figure is printed beside its target; exits 1 when one is missed or the bills are not exact, 2 when the benchmark
cannot run here. ARGS="--targets direct,anex --tests chat --clients 16 --seconds 10 --requests 0" makes a short run.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from anex.supervisor.valkey import free_port
from tests.bench.gateway import baselines, books, memory, platform, report
from tests.bench.gateway.processes import start
from tests.bench.gateway.programs import Missing, compiled
from tests.bench.gateway.shots import Shot, Target, fire, plan

TARGETS = ("direct", "vllm-router", "litellm", "anex")
TESTS = ("chat", "embed", "stream", "paced")


def options() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(prog="make bench-gateway", usage='make bench-gateway ARGS="…"')
    parser.add_argument("--rounds", type=int, default=3, help="each visits every target (default: 3)")
    parser.add_argument("--seconds", type=float, default=4, help="of a shot (default: 4)")
    parser.add_argument("--tests", type=_some(TESTS), default=TESTS, help=f"of {','.join(TESTS)}")
    parser.add_argument("--targets", type=_some(TARGETS), default=TARGETS, help=f"of {','.join(TARGETS)}")
    parser.add_argument("--clients", default="1,16,64", help="at once (default: 1,16,64)")
    parser.add_argument("--requests", type=int, default=100_000, help="over which memory is watched; 0: it is not")
    return parser.parse_args()


def _some(known: tuple[str, ...]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        if unknown := set(text.split(",")) - set(known):
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}")
        return text.split(",")

    return read


class Run:
    """The servers of one run and what was found at them."""

    def __init__(self, state: Path, chosen: argparse.Namespace) -> None:
        self._state = state
        self._chosen = chosen
        self._load = compiled("load")
        self._upstream = free_port()
        self._found: defaultdict[tuple[Shot, str], list[dict[str, Any]]] = defaultdict(list)
        self._served: Counter[str] = Counter()

    def run(self) -> int:
        """The exit status."""
        start(
            [str(compiled("upstream")), str(self._upstream)],
            log=self._state / "upstream.log",
            port=self._upstream,
            seconds=10,
        )
        with ExitStack() as opened:
            stack = opened.enter_context(platform.stack(self._state)) if "anex" in self._chosen.targets else None
            targets = self._targets(platform.configure(stack, self._upstream) if stack else None)
            shots = plan(self._chosen.tests, [int(count) for count in self._chosen.clients.split(",")])
            before = {target.name: memory.usage(target) for target in targets}
            self._measure(targets, shots)
            self._print(targets, shots, before)
            verdicts = report.judge(self._figures(targets), shots) if stack else []
            if stack and self._chosen.requests:
                seen, served = memory.watch(self._load, targets[-1], self._upstream, self._chosen.requests)
                self._served += served
                verdicts += report.judge_memory(seen, self._chosen.requests)
            wrong = books.check(stack, self._served) if stack else []
        print("\n" + "\n".join([*map(str, verdicts), *(f"WRONG: {each}" for each in wrong)]))
        return int(bool(wrong) or any(verdict.missed for verdict in verdicts))

    def _targets(self, anex: Target | None) -> list[Target]:
        """Those that were chosen and can be had; Anex is the last."""
        found, upstream = [], self._upstream
        if "direct" in self._chosen.targets:
            found.append(Target("direct", upstream, "x"))
        for name, begin in (("vllm-router", baselines.vllm_router), ("litellm", baselines.litellm)):
            if name in self._chosen.targets:
                try:
                    found.append(begin(self._state, upstream))
                except Missing as missing:
                    print(f"without {name}: {missing}")
        if anex:
            print("processes of anex:", ", ".join(f"{name} {pid}" for name, pid in anex.pids.items()), flush=True)
            found.append(anex)
        return found

    def _measure(self, targets: list[Target], shots: list[Shot]) -> None:
        """Every round begins with another target, so that what neighbours do hits all alike."""
        for number in range(self._chosen.rounds):
            print(f"the machine's load is {os.getloadavg()[0]:.1f}", flush=True)
            first = number % len(targets)
            for shot in shots:
                for target in targets[first:] + targets[:first]:
                    before = books.answered(self._upstream)
                    found = fire(self._load, target, shot, self._chosen.seconds)
                    if target.name == "anex":
                        self._served += books.answered(self._upstream) - before
                    self._found[shot, target.name].append(found)
                    print(f"round {number + 1}, {shot.name}, {target.name}: {report.line(shot, found)}", flush=True)

    def _figures(self, targets: list[Target]) -> report.Figures:
        return report.Figures(self._found, [target.name for target in targets])

    def _print(self, targets: list[Target], shots: list[Shot], before: dict[str, dict[str, float]]) -> None:
        figures = self._figures(targets)
        for test in self._chosen.tests:
            print("\n" + figures.table(test, [shot for shot in shots if shot.test == test]))
        print("\n" + figures.shares(shots))
        for target in targets:
            for name, mib in memory.usage(target).items():
                print(
                    f"memory of {target.name}, {name}: {before[target.name][name]:.0f} MiB before, {mib:.0f} MiB after"
                )


def main() -> int:
    """Run; the exit status."""
    chosen = options()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    try:
        with tempfile.TemporaryDirectory(prefix="anex-gateway-", dir="/var/tmp") as folder:
            return Run(Path(folder), chosen).run()
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
