"""What staff see first, and beside an organization: each app tells its own share, and links to the pages behind it."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

# More is not counted: nobody needs the last digit, and a table may be long.
_MOST: Final = 1000


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure and the page that it is about: `model` as `app_model`, `filters` as its list takes them."""

    label: str
    value: str
    model: str
    filters: tuple[tuple[str, str], ...] = ()
    section: str = ""
    # Somebody should look at it now.
    is_urgent: bool = False
    # The list, or an action of it, which takes what it begins with as filters.
    page: str = "changelist"

    @property
    def link(self) -> str:
        """The address of the page."""
        query = urlencode(self.filters)
        return reverse(f"admin:{self.model}_{self.page}") + (f"?{query}" if query else "")


FirstPage = Callable[[], Iterable[Fact]]
OfOrganization = Callable[[UUID], Iterable[Fact]]
_first_page: list[FirstPage] = []
_of_organization: list[OfOrganization] = []


def on_first_page(tell: FirstPage) -> FirstPage:
    """Have an app's facts told on the first page."""
    _first_page.append(tell)
    return tell


def about_organization(tell: OfOrganization) -> OfOrganization:
    """Have an app's facts told on the page of an organization."""
    _of_organization.append(tell)
    return tell


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The first page's context, with the facts that the person may look into by section, urgent ones first."""
    sections: dict[str, list[Fact]] = defaultdict(list)
    for tell in _first_page:
        for fact in tell():
            if _may_see(request, fact):
                sections[fact.section].append(fact)
    ordered = {name: sorted(facts, key=lambda fact: not fact.is_urgent) for name, facts in sections.items()}
    return context | {"sections": ordered}


def of(request: HttpRequest, organization_id: UUID) -> list[Fact]:
    """What the apps know of an organization, as far as the person may look into it."""
    facts = (fact for tell in _of_organization for fact in tell(organization_id))
    return [fact for fact in facts if _may_see(request, fact)]


def of_organization(organization_id: UUID, *further: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    """The filters of a list for an organization's rows."""
    return (("organization__id__exact", str(organization_id)), *further)


def count(rows: QuerySet[Any]) -> int:
    """How many rows there are, up to some."""
    return rows.order_by()[: _MOST + 1].count()


def shown(number: int) -> str:
    """A count as people read it."""
    return f"more than {_MOST:,}" if number > _MOST else f"{number:,}"


def _may_see(request: HttpRequest, fact: Fact) -> bool:
    app, _, model = fact.model.partition("_")
    return any(request.user.has_perm(f"{app}.{verb}_{model}") for verb in ("view", "change"))
