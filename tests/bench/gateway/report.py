"""Medians over the rounds, the tables, and each figure beside its target."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from tests.bench.gateway.shots import Shot

Found = Mapping[tuple[Shot, str], Sequence[Mapping[str, Any]]]
BASELINE: Final = "litellm"
# What a process may grow by after the first tenth of the requests: what allocators keep, less than a leak would take.
_GROWTH_MIB: Final = 3.0
# Titles and figures of a row.
_WHOLE: Final = (
    ("requests/s", "rate"),
    ("p50 ms", "p50"),
    ("p99 ms", "p99"),
    ("added p50", "added p50"),
    ("added p99", "added p99"),
    ("CPU s per 1,000", "cpu"),
)
_STREAMED: Final = (
    ("chunks/s", "chunk_rate"),
    ("first p50 ms", "first_p50"),
    ("first p99", "first_p99"),
    ("gap p99 ms", "gap_p99"),
    ("added gap p99", "added gap_p99"),
    ("CPU s per 100,000 chunks", "cpu"),
)


@dataclass(frozen=True)
class Verdict:
    """A figure beside its target; None where it could not be measured in this run."""

    what: str
    found: float | None
    target: float
    aim: float | None = None
    is_least: bool = False
    unit: str = ""

    @property
    def missed(self) -> bool:
        """Whether it was measured and is not good enough."""
        if self.found is None:
            return False
        return self.found < self.target if self.is_least else self.found > self.target

    def __str__(self) -> str:
        sign = "≥" if self.is_least else "≤"
        aim = "" if self.aim is None else f", aim {self.aim:g}"
        found = "not measured" if self.found is None else f"{self.found:.2f} {self.unit}".strip()
        word = "" if self.found is None else "MISSED" if self.missed else "ok"
        return f"{self.what:48s} {found:>16s}  (target {sign} {self.target:g}{aim}) {word}".rstrip()


class Figures:
    """Medians by shot and target. What compares two targets is taken within each round, where they stand side by side:
    a neighbour of the machine then bears on both.
    """

    def __init__(self, found: Found, targets: Sequence[str]) -> None:
        self._found = found
        self._targets = targets

    def get(self, shot: Shot, target: str, name: str) -> float | None:
        """One figure; `cpu` is that of all processes together. None where it was not measured."""
        values = self._rounds(shot, target, name)
        return median(values) if values else None

    def ratio(self, shot: Shot, target: str, name: str) -> float | None:
        """A target's figure by the baseline's."""
        return self._compare(_by, shot, name, target, BASELINE)

    def added(self, shot: Shot, target: str, name: str) -> float | None:
        """What a target adds to the server asked directly."""
        return self._compare(operator.sub, shot, name, target, "direct")

    def _compare(
        self, how: Callable[[float, float], float], shot: Shot, name: str, target: str, other: str
    ) -> float | None:
        pairs = zip(self._rounds(shot, target, name), self._rounds(shot, other, name), strict=False)
        values = [how(one, two) for one, two in pairs]
        return median(values) if values else None

    def _rounds(self, shot: Shot, target: str, name: str) -> list[float]:
        rounds = self._found.get((shot, target), ())
        if name == "cpu":
            return [sum(each["cpu"].values()) for each in rounds if each["cpu"]]
        return [each[name] for each in rounds]

    def errors(self, shot: Shot, target: str) -> int:
        """Over all rounds."""
        return sum(each["errors"] for each in self._found.get((shot, target), ()))

    def table(self, test: str, shots: Sequence[Shot]) -> str:
        """Markdown."""
        head = _STREAMED if shots[0].is_streamed else _WHOLE
        titles = [*(title for title, _ in head), f"{head[0][0]} by {BASELINE}'s", f"CPU by {BASELINE}'s"]
        lines = [f"| {test}, clients | target | {' | '.join(titles)} | errors |", "|---" * (len(titles) + 3) + "|"]
        for shot in shots:
            for target in self._targets:
                cells = [self._cell(shot, target, name) for _, name in head]
                cells += [self.ratio(shot, target, head[0][1]), self.ratio(shot, target, "cpu")]
                shown = " | ".join(map(_shown, cells))
                lines.append(f"| {shot.clients} | {target} | {shown} | {self.errors(shot, target)} |")
        return "\n".join(lines)

    def _cell(self, shot: Shot, target: str, name: str) -> float | None:
        if not name.startswith("added "):
            return self.get(shot, target, name)
        return None if target == "direct" else self.added(shot, target, name.removeprefix("added "))

    def shares(self, shots: Sequence[Shot]) -> str:
        """Which of Anex's processes the time goes to."""
        lines = []
        for shot in shots:
            if not (rounds := self._found.get((shot, "anex"))):
                continue
            parts = [f"{name} {median(each['cpu'][name] for each in rounds):.3f}" for name in rounds[0]["cpu"]]
            unit = "100,000 chunks" if shot.is_streamed else "1,000 requests"
            lines.append(f"anex, {shot.name}: CPU s per {unit}: {', '.join(parts)}")
        return "\n".join(lines)


def line(shot: Shot, found: Mapping[str, Any]) -> str:
    """One shot, for those who watch."""
    rate = f"{found['chunk_rate']:,.0f} chunks/s" if shot.is_streamed else f"{found['rate']:,.0f} requests/s"
    told = f"; {found['errors']} errors, the first: {found['first_error']}" if found["first_error"] else ""
    return f"{rate}, p50 {found['p50']:.2f} ms, p99 {found['p99']:.2f} ms{told}"


def judge(figures: Figures, shots: Sequence[Shot]) -> list[Verdict]:
    """The targets that this run can say something about."""
    verdicts = []
    for shot in shots:
        if shot.test == "chat":
            if shot.clients >= 16:
                against = figures.ratio(shot, "anex", "rate")
                verdicts.append(Verdict(f"{shot.name}: requests/s by LiteLLM's", against, 15, 30, is_least=True))
            if shot.clients == 1:
                added = figures.added(shot, "anex", "p50")
                verdicts.append(Verdict(f"{shot.name}: added p50", added, 1.5, 1, unit="ms"))
            cpu = figures.get(shot, "anex", "cpu")
            verdicts.append(Verdict(f"{shot.name}: CPU per 1,000 requests", cpu, 1.2, 0.6, unit="s"))
        if shot.test == "stream":
            against = figures.ratio(shot, "anex", "chunk_rate")
            verdicts.append(Verdict(f"{shot.name}: chunks/s by LiteLLM's", against, 50, 90, is_least=True))
        if shot.test == "paced":
            added = figures.added(shot, "anex", "gap_p99")
            verdicts.append(Verdict(f"{shot.name}: gap p99 beside direct", added, 5, unit="ms"))
        verdicts.append(Verdict(f"{shot.name}: errors", float(figures.errors(shot, "anex")), 0))
    return verdicts


def judge_memory(seen: Sequence[Mapping[str, float]], requests: int) -> list[Verdict]:
    """Postgres is left out: it fills its cache of a fixed size."""
    return [
        Verdict(f"growth of {name} over {requests:,} requests", seen[-1][name] - seen[1][name], _GROWTH_MIB, unit="MiB")
        for name in ("web", "valkey")
    ]


def _by(one: float, other: float) -> float:
    return one / other if other else math.inf


def _shown(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}" if value >= 1 or value <= 0 else f"{value:.3f}"
