"""The e-mail about a key that has spent most of a ceiling: once per key and day, week or month."""

from datetime import UTC, datetime

from accounts.alert_kinds import Kind
from accounts.selectors import alerts as alert_reads
from accounts.selectors import keys
from accounts.selectors.keys import LimitedKey
from accounts.services import alerts
from anex.core.money import cents_to_nano, format_dollars
from billing import ceilings
from billing.ceilings import Ceiling, Spent
from billing.selectors import key_spend


def watch(now: datetime) -> int:
    """Tell about every key that is near one of its ceilings; answers how many ceilings were told about now."""
    today = now.astimezone(UTC).date()
    limited = keys.with_ceilings(now)
    spent = key_spend.of((key.key_id for key in limited), at=now)
    near = [
        (key, ceiling, str(ceilings.starts_anew(ceiling.period, today)))
        for key in limited
        for ceiling in ceilings.near(spent.get(key.key_id, Spent()), key.ceilings)
    ]
    # Saves a question per key and minute; what makes it once is the alert's own uniqueness.
    told = alert_reads.told(Kind.KEY_CEILING, {key.key_id for key, _, _ in near})
    return sum(
        _tell(key, ceiling, until)
        for key, ceiling, until in near
        if (key.key_id, _crossing(ceiling, until)) not in told
    )


def _crossing(ceiling: Ceiling, until: str) -> str:
    return f"{ceiling.period} until {until}"


def _tell(key: LimitedKey, ceiling: Ceiling, until: str) -> bool:
    return alerts.raise_once(
        organization_id=key.organization_id,
        kind=Kind.KEY_CEILING,
        subject=key.key_id,
        crossing=_crossing(ceiling, until),
        facts={
            "name": key.name,
            "period": ceiling.period,
            "ceiling": format_dollars(cents_to_nano(ceiling.ceiling_cents)),
            "spent": format_dollars(ceiling.spent_nano),
            "until": until,
        },
    )
