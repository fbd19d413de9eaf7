"""What a plan lets an organization's keys do, and which terms of a plan make sense."""

from dataclasses import dataclass, replace

from anex.core.errors import Forbidden, InvalidRequest, Unprocessable

SURFACES = ("batch", "chat", "embeddings", "decisions")
# What is answered at once. A plan without any of it answers no request.
INTERACTIVE = frozenset({"chat", "embeddings", "decisions"})
EVERY_SURFACE = frozenset(SURFACES)
MAX_BURST = 1_000_000
MAX_OUTPUT_TOKENS = 1_000_000
MAX_HISTORY_BYTES = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PlanTerms:
    """The terms of a plan; without any row in the table, those of the plan that allows everything.

    `burst` is how many requests the organization's keys may send in a second, None for the edge's own limit;
    `max_output_tokens` is the longest answer in tokens, None for the model's; `history_budget_bytes` how much of a
    conversation is sent on, None for all of it (see inference/requests/history.py).
    """

    slug: str = "default"
    name: str = "Default"
    surfaces: frozenset[str] = EVERY_SURFACE
    burst: int | None = None
    max_output_tokens: int | None = None
    history_budget_bytes: int | None = None

    @property
    def may_generate(self) -> bool:
        """Whether the keys may have anything answered at once."""
        return bool(self.surfaces & INTERACTIVE)

    @property
    def sorted_surfaces(self) -> list[str]:
        """The surfaces in the order they are listed everywhere."""
        return [surface for surface in SURFACES if surface in self.surfaces]

    def check(self) -> "PlanTerms":
        """The terms with a trimmed name; InvalidRequest (400), naming the field, where they make no sense."""
        name = self.name.strip()
        if not name or len(name) > 100 or not name.isprintable():
            raise InvalidRequest("Give the plan a name of at most 100 characters.", param="name")
        if unknown := sorted(self.surfaces - EVERY_SURFACE):
            raise InvalidRequest(f"There is no surface {unknown[0]}.", param="surfaces")
        if self.burst is not None and not 1 <= self.burst <= MAX_BURST:
            raise InvalidRequest(f"A burst is a number from 1 to {MAX_BURST:,}.", param="burst")
        if self.max_output_tokens is not None and not 1 <= self.max_output_tokens <= MAX_OUTPUT_TOKENS:
            raise InvalidRequest(f"A ceiling is a number from 1 to {MAX_OUTPUT_TOKENS:,}.", param="max_output_tokens")
        if self.history_budget_bytes is not None and not 1 <= self.history_budget_bytes <= MAX_HISTORY_BYTES:
            raise InvalidRequest(
                f"A history is a number of bytes from 1 to {MAX_HISTORY_BYTES:,}.", param="history_budget_bytes"
            )
        return replace(self, name=name)

    def require_surface(self, surface: str) -> None:
        """Forbidden (403) for a surface the plan does not have; code and `plan` are as in reference 004."""
        if surface not in self.surfaces:
            raise PlanLacks(surface, self)

    def require_generate(self) -> None:
        """Forbidden (403) for a plan whose keys have nothing answered at once."""
        if not self.may_generate:
            raise PlanLacks("api_generate", self)

    def require_output(self, asked_tokens: int | None) -> None:
        """Unprocessable (422) for an answer longer than the plan allows."""
        if asked_tokens is not None and asked_tokens > self.cap(asked_tokens):
            raise Unprocessable(
                f"max_output_tokens is at most {self.max_output_tokens:,} on this organization's plan, {self.name}.",
                param="max_output_tokens",
            )

    def cap(self, tokens: int) -> int:
        """At most `tokens`, and at most what the plan allows."""
        return tokens if self.max_output_tokens is None else min(tokens, self.max_output_tokens)


class PlanLacks(Forbidden):
    """403: the organization's plan does not include something; code and `plan` are as in reference 004."""

    def __init__(self, lacking: str, terms: PlanTerms) -> None:
        code = f"plan_has_no_{lacking}"
        super().__init__(
            f"The plan of this organization, {terms.name}, does not include {_WORDS.get(lacking, lacking)}. "
            "Contact support to change the plan.",
            code=code,
            extra={"code": code, "plan": terms.slug},
        )
        self.terms = terms


_WORDS = {"api_generate": "requests that are answered at once"}
DEFAULT_PLAN = PlanTerms()
