"""What a key may do and for how long: the limits an owner or admin gives it, and which of them make sense."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from accounts.callers import EVERY_SCOPE
from anex.core.errors import InvalidRequest

# Ten million dollars: beyond any month, and far from the end of a 64-bit integer of nano-dollars.
MAX_CEILING_CENTS = 1_000_000_000
MAX_MODELS = 100
MAX_MODEL_LENGTH = 64


@dataclass(frozen=True, slots=True)
class KeyOptions:
    """Limits of a key; None is no limit. Ceilings are whole cents a UTC day, week (from Monday) or month."""

    scopes: frozenset[str] = EVERY_SCOPE
    models: frozenset[str] | None = None
    expires_at: datetime | None = None
    daily_ceiling_cents: int | None = None
    weekly_ceiling_cents: int | None = None
    monthly_ceiling_cents: int | None = None

    def check(self, *, now: datetime) -> None:
        """InvalidRequest (400), naming the field, for limits that make no sense."""
        if not self.scopes:
            raise InvalidRequest("Choose at least one scope.", param="scopes")
        if unknown := sorted(self.scopes - EVERY_SCOPE):
            raise InvalidRequest(f"There is no scope {unknown[0]}.", param="scopes")
        if self.models is not None:
            _check_models(self.models)
        if self.expires_at is not None and self.expires_at <= now:
            raise InvalidRequest("The key would expire at once. Choose a later day.", param="expires_at")
        for period, ceiling in self.ceilings():
            if ceiling is not None and not 1 <= ceiling <= MAX_CEILING_CENTS:
                raise InvalidRequest(
                    f"A ceiling is at least one cent and at most {MAX_CEILING_CENTS:,} cents.",
                    param=f"{period}_ceiling_cents",
                )

    def ceilings(self) -> tuple[tuple[str, int | None], ...]:
        """The ceilings by period, the longest first."""
        return (
            ("monthly", self.monthly_ceiling_cents),
            ("weekly", self.weekly_ceiling_cents),
            ("daily", self.daily_ceiling_cents),
        )


def _check_models(models: Iterable[str]) -> None:
    named = list(models)
    if not named:
        raise InvalidRequest("Choose at least one model, or allow every model.", param="models")
    if len(named) > MAX_MODELS or any(not 0 < len(model) <= MAX_MODEL_LENGTH for model in named):
        raise InvalidRequest("Name models by their ids.", param="models")
