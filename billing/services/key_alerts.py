"""The e-mail about a key that has spent most of a ceiling: once per key and day, week or month."""

from datetime import UTC, datetime

from accounts.alert_kinds import Kind
from accounts.selectors import keys
from accounts.services import alerts
from anex.core.money import cents_to_nano, format_dollars
from billing import ceilings
from billing.selectors import key_spend


def watch(now: datetime) -> int:
    """Tell about every key that is near one of its ceilings; answers how many were told about now."""
    today = now.astimezone(UTC).date()
    limited = keys.with_ceilings(now)
    spent = key_spend.of((key.key_id for key in limited), at=now)
    told = 0
    for key in limited:
        if key.key_id not in spent:
            continue
        for ceiling in ceilings.near(spent[key.key_id], key.ceilings):
            told += alerts.raise_once(
                organization_id=key.organization_id,
                kind=Kind.KEY_CEILING,
                subject=key.key_id,
                crossing=f"{ceiling.period} until {ceilings.starts_anew(ceiling.period, today)}",
                facts={
                    "name": key.name,
                    "period": ceiling.period,
                    "ceiling": format_dollars(cents_to_nano(ceiling.ceiling_cents)),
                    "spent": format_dollars(ceiling.spent_nano),
                    "until": str(ceilings.starts_anew(ceiling.period, today)),
                },
            )
    return told
