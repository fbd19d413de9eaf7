"""What goes wrong on purpose: by counters of the command line, or by directives written in a prompt.

A directive stands in the last user message (or the prompt, input or state): `[[sleep MS]]`, `[[pace MS]]` (per streamed
token), `[[hold]]` (a stream stops in its middle until somebody posts to `/release`), `[[status CODE]]` or
`[[status CODE TIMES]]` (only the first TIMES it is asked), `[[drop]]`, `[[cut]]`, `[[die]]` (the process ends in
mid-answer), `[[poison]]` (it ends before answering), `[[tokens N]]` (answer length), `[[think N]]` (length of its
thinking, where that is on), `[[usage KIND]]`, `[[calls N]]` (tool calls), `[[echo]]` (answer the prompt itself).
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from inference.engines.scripted.options import USAGE_KINDS, Options

_DIRECTIVE = re.compile(r"\[\[(\w+)((?: \w+)*)\]\]")

Ending = Literal["whole", "drop", "cut", "die", "poison"]


@dataclass(frozen=True, slots=True)
class Directives:
    """The directives of one prompt; `text` is the prompt without them."""

    text: str
    words: dict[str, list[str]]

    def number(self, name: str, default: int = 0) -> int:
        """The first argument of a directive as a number; `default` where it is absent or no number."""
        arguments = self.words.get(name, [])
        return int(arguments[0]) if arguments and arguments[0].isdigit() else default


@dataclass(frozen=True, slots=True)
class Plan:
    """How one request is answered: after `delay_s`, with `status`, ending as `ending` says."""

    delay_s: float
    pace_s: float
    is_held: bool
    status: int
    ending: Ending
    usage: str


def directives(text: str) -> Directives:
    """Find the directives of a prompt."""
    if "[[" not in text:
        return Directives(text, {})
    words = {name: arguments.split() for name, arguments in _DIRECTIVE.findall(text)}
    return Directives(" ".join(_DIRECTIVE.sub("", text).split()), words)


class Faults:
    """Counts requests and decides the fate of each."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._requests = 0
        self._asked: Counter[str] = Counter()

    def plan(self, prompt: str, found: Directives) -> Plan:
        """The fate of the next request, whose prompt is `prompt`."""
        self._requests += 1
        kind = found.words.get("usage", [""])[0]
        return Plan(
            delay_s=(self._options.delay_ms + found.number("sleep")) / 1000,
            pace_s=found.number("pace") / 1000,
            is_held="hold" in found.words,
            status=self._status(prompt, found),
            ending=self._ending(found),
            usage=kind if kind in USAGE_KINDS else self._options.usage,
        )

    def _status(self, prompt: str, found: Directives) -> int:
        arguments = found.words.get("status", [])
        if arguments and arguments[0].isdigit():
            self._asked[prompt] += 1
            if len(arguments) == 1 or self._asked[prompt] <= int(arguments[1]):
                return int(arguments[0])
        if self._due(self._options.fail_every):
            return 500
        return 429 if self._due(self._options.throttle_every) else 200

    def _ending(self, found: Directives) -> Ending:
        options = self._options
        ends: tuple[tuple[Ending, int], ...] = (
            ("poison", 0),
            ("die", options.die_every),
            ("drop", options.drop_every),
            ("cut", options.cut_every),
        )
        for ending, every in ends:
            if ending in found.words or self._due(every):
                return ending
        return "whole"

    def _due(self, every: int) -> bool:
        return every > 0 and self._requests % every == 0
