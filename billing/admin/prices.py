"""The price cards for staff: files, so they are read here and changed in their folder."""

from decimal import Decimal

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import formats
from unfold.sites import UnfoldAdminSite

from anex.core.money import NANO_PER_DOLLAR, cents_to_nano, format_dollars
from billing.pricing import Fees, Rates
from billing.selectors import prices

_UNITS = 1_000_000
HEADERS = (
    *("Model", "State", "From (UTC)", "Batch: text", "Batch: media", "Realtime: text", "Realtime: media"),
    *("Fees", "Least a job costs", "Within an hour", "File"),
)


def page(site: UnfoldAdminSite, request: HttpRequest) -> HttpResponse:
    """Every version of every model's prices; a job keeps the one that it was quoted by."""
    if not request.user.has_perm("billing.view_account"):
        raise PermissionDenied
    rows = [_row(version) for version in prices.versions()]
    context = site.each_context(request) | {"title": "Price cards", "table": {"headers": HEADERS, "rows": rows}}
    return TemplateResponse(request, "admin/price_cards.html", context)


def _row(version: prices.Version) -> list[str]:
    card = version.card
    fees = {f"realtime {name}": rate for name, rate in _fees(card.realtime_fees).items()}
    told = [f"{name} {rate}" for name, rate in (_fees(card.fees) | fees).items()]
    hour = card.windows.get("1h")
    return [
        card.model,
        version.state,
        formats.date_format(card.starts_at, "Y-m-d H:i"),
        *(_rates(rates) for rates in (card.text, card.media, card.realtime, card.realtime_media)),
        ", ".join(told) or "none",
        format_dollars(cents_to_nano(card.minimum_job_cents)),
        f"{hour} %" if hour else "not sold",
        "the operator’s" if version.is_own else "built in",
    ]


def _rates(rates: Rates | None) -> str:
    if rates is None:
        return "not sold"
    told = [("in", rates.input), ("cached", rates.cached), ("out", rates.output)]
    return ", ".join(f"{_exactly(rate)} {name}" for name, rate in told if rate is not None)


def _fees(fees: Fees) -> dict[str, str]:
    """What one unit costs, of those that cost something."""
    rates = {name.replace("_", " "): getattr(fees, name) for name in fees.__struct_fields__}
    return {name: _exactly(Decimal(rate) / _UNITS) for name, rate in rates.items() if rate}


def _exactly(nano: int | Decimal) -> str:
    """Dollars with every digit, and at least the cents."""
    whole, _, rest = f"{Decimal(nano) / NANO_PER_DOLLAR:f}".partition(".")
    return f"${whole}.{rest.rstrip('0').ljust(2, '0')}"
