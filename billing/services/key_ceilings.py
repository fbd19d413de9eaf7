"""Holds counted against the ceilings of the key that asked for them."""

from datetime import UTC, datetime

from anex.core.errors import NotFound
from billing.ceilings import Ceiling
from billing.services import verbs


def charge(*, source: str, key_id: str, amount_nano: int, at: datetime) -> bool:
    """Count a hold against its key, in the transaction that placed it; False when it is counted already.

    What the hold's settlement releases is given back by the database. Raises InsufficientQuota (429) when the key
    would go past a ceiling (the caller's transaction must end there, so that the hold goes too), NotFound for an
    unknown hold or key.
    """
    outcome, (period, ceiling_cents, spent_nano) = verbs.call("billing_charge_key_v1", source, key_id, at)
    match outcome:
        case "ceiling":
            ceiling = Ceiling(period, ceiling_cents, spent_nano)
            raise ceiling.refusal(amount_nano, today=at.astimezone(UTC).date())
        case "unknown_hold" | "unknown_key":
            raise NotFound("There is no such hold or key.")
    return outcome == "charged"
