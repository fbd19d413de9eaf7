"""What staff should know of customers."""

from collections.abc import Iterator
from uuid import UUID

from accounts.models import Alert, ApiKey, Freeze, Organization
from anex.core import clock
from anex.core.overview import Fact, about_organization, count, of_organization, on_first_page, shown

SECTION = "Customers"


@on_first_page
def tell() -> Iterator[Fact]:
    """Frozen APIs, suspended organizations, e-mails that wait."""
    frozen = list(Freeze.objects.filter(frozen_at__isnull=False).order_by("pk").values_list("pk", flat=True))
    yield Fact("Frozen APIs", ", ".join(frozen) or "none", "accounts_freeze", (), SECTION, bool(frozen))
    suspended = count(Organization.objects.filter(suspended_at__isnull=False))
    filters = (("suspended_at__isempty", "0"),)
    yield Fact("Suspended organizations", shown(suspended), "accounts_organization", filters, SECTION)
    late = count(Alert.objects.filter(sent_at=None))
    yield Fact("E-mails not sent yet", shown(late), "accounts_alert", (("sent_at__isempty", "1"),), SECTION)


@about_organization
def tell_of(organization_id: UUID) -> Iterator[Fact]:
    """Keys and the audit record."""
    now = clock.now()
    working = ApiKey.objects.filter(organization_id=organization_id, revoked_at=None).exclude(expires_at__lte=now)
    yield Fact("API keys that work", shown(count(working)), "accounts_apikey", of_organization(organization_id))
    yield Fact("Audit record", "what was done", "accounts_auditevent", of_organization(organization_id))
    yield Fact("E-mails", "about what happened", "accounts_alert", of_organization(organization_id))
