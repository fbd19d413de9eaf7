"""What staff should know of money."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from anex.core import clock
from anex.core.money import format_dollars
from anex.core.overview import Fact, about_organization, count, of_organization, on_first_page, shown
from billing.models import Account, Topup
from billing.selectors import balances

SECTION = "Money"


@on_first_page
def tell() -> Iterator[Fact]:
    """Payments that failed or are under way, and balances below zero."""
    since = clock.now() - timedelta(days=7)
    failed = count(Topup.objects.filter(state=Topup.State.FAILED, created_at__gte=since))
    filters = (("state__exact", "failed"), ("created_at__gte", since.isoformat()))
    yield Fact("Payments that failed, 7 days", shown(failed), "billing_topup", filters, SECTION, failed > 0)
    under_way = count(Topup.objects.filter(state=Topup.State.OPEN))
    yield Fact("Payments under way", shown(under_way), "billing_topup", (("state__exact", "open"),), SECTION)
    below = count(Account.objects.filter(organization__isnull=False, balance_nano__lt=0, credit_limit_nano=0))
    owing = (("balance_nano__lt", "0"), ("credit_limit_nano__exact", "0"), ("organization__isnull", "False"))
    yield Fact("Prepaid balances below zero", shown(below), "billing_account", owing, SECTION, below > 0)


@about_organization
def tell_of(organization_id: UUID) -> Iterator[Fact]:
    """The balance, the ledger and payments."""
    money = balances.get(organization_id)
    about = f"{format_dollars(money.available_nano)} available, {format_dollars(money.held_nano)} held"
    yield Fact("Balance", about, "billing_account", of_organization(organization_id))
    begins_with = (("organization", str(organization_id)),)
    yield Fact("Grant credits", "", "billing_account", begins_with, page="grant_credits")
    yield Fact("Correct the balance", "", "billing_account", begins_with, page="correct_balance")
    account = Account.objects.filter(organization_id=organization_id).values_list("pk", flat=True).first()
    yield Fact("Ledger", "every line", "billing_transfer", (("account", str(account or 0)),))
    paid = count(Topup.objects.filter(organization_id=organization_id, state=Topup.State.PAID))
    yield Fact("Payments", shown(paid), "billing_topup", of_organization(organization_id))
