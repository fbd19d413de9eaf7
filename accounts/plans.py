"""What a plan lets an organization's keys do, and which terms of a plan make sense."""

from dataclasses import dataclass, replace

from anex.core.errors import Forbidden, InvalidRequest, Unprocessable

SURFACES = ("batch", "chat", "embeddings", "decisions")
EVERY_SURFACE = frozenset(SURFACES)
MAX_BURST = 1_000_000
MAX_OUTPUT_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class PlanTerms:
    """The terms of a plan; without any row in the table, those of the plan that allows everything.

    `burst` is how many requests the organization's keys may send in a second, None for the edge's own limit;
    `max_output_tokens` is the longest answer in tokens, None for the model's.
    """

    slug: str = "default"
    name: str = "Default"
    surfaces: frozenset[str] = EVERY_SURFACE
    burst: int | None = None
    max_output_tokens: int | None = None

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
        return replace(self, name=name)

    def require_surface(self, surface: str) -> None:
        """Forbidden (403) for a surface the plan does not have; code and `plan` are as in reference 004."""
        if surface not in self.surfaces:
            code = f"plan_has_no_{surface}"
            raise Forbidden(
                f"The plan of this organization, {self.name}, does not include {surface}. "
                "Contact support to change the plan.",
                code=code,
                extra={"code": code, "plan": self.slug},
            )

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


DEFAULT_PLAN = PlanTerms()
