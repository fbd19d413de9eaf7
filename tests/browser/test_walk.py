"""Every page there is: axe in both themes, no sideways scrolling on a phone, nothing that no page may do.

A new page is walked to without being named here; what it has in its address stands in `scenes`.
"""

from collections.abc import Iterable

import pytest
from playwright.sync_api import Page

from accounts.models import Organization
from tests.browser import places, scenes
from tests.browser.conftest import DESKTOP, PHONE, OpenPage
from tests.browser.looks import misfit, violations
from tests.browser.places import Place
from tests.browser.watch import Watch
from tests.factories import make_user

# The frame of the staff area's theme has no landmark for the page itself, and two of one name.
UNFOLDS_OWN = ("landmark-one-main", "landmark-unique", "region")
# Swagger UI draws its page itself.
OF_OTHERS = ("swagger",)


class Walk:
    """What was found: how many pages, what leads elsewhere, and how often each page breaks each rule."""

    def __init__(self) -> None:
        self.pages = 0
        self.elsewhere: list[Place] = []
        self._faults: dict[tuple[str, str], list[str]] = {}

    def along(self, page: Page, visits: Iterable[Place], watch: Watch) -> None:
        """Look at every page among them."""
        for place in visits:
            found = places.look_up(page, place.path)
            if found == "page":
                self.pages += 1
                page.goto(place.path)
                self._note(place, [*looks(page, place), *watch.take()])
            elif found == "elsewhere":
                self.elsewhere.append(place)
            elif found != "no page":
                self._note(place, [found])

    def _note(self, place: Place, faults: Iterable[str]) -> None:
        for fault in faults:
            rule, _, where = fault.partition(": ")
            self._faults.setdefault((rule, place.path), []).append(where)

    def faults(self, *, but: tuple[str, ...] = ()) -> str:
        """One line for each rule and page, with the first place of it; without some rules."""
        return "\n".join(
            f"{path}: {rule}, {len(found)} times: {found[0]}"
            for (rule, path), found in self._faults.items()
            if rule not in but
        )


def looks(page: Page, place: Place) -> list[str]:
    """What is wrong with the page as it stands."""
    found = []
    if place.name not in OF_OTHERS:
        light, dark = violations(page, "light"), violations(page, "dark")
        found = light + [f"{line} (dark)" for line in dark if line not in light]
    page.set_viewport_size(PHONE)
    found += misfit(page)
    page.set_viewport_size(DESKTOP)
    return found


@pytest.fixture
def values(acme: Organization) -> scenes.Values:
    return scenes.furnish(acme, make_user("ada"))


@pytest.mark.slow
def test_every_page_of_the_console(owner: Page, visitor: Page, values: scenes.Values, watch: Watch) -> None:
    walk, entrances = Walk(), Walk()
    ours = [place for place in places.console(values) if not is_read(place) and "/2fa/" not in place.path]
    walk.along(owner, ours, watch)
    assert not walk.faults(), walk.faults()
    entrances.along(visitor, [place for place in walk.elsewhere if "/accounts/" in place.path], watch)
    assert not entrances.faults(), entrances.faults()
    assert walk.pages + entrances.pages > 45, walk.elsewhere


@pytest.mark.slow
def test_every_page_that_everybody_reads(visitor: Page, values: scenes.Values, watch: Watch) -> None:
    walk = Walk()
    walk.along(visitor, [place for place in places.console(values) if is_read(place)], watch)
    assert not walk.faults(), walk.faults()
    assert walk.pages > 25, walk.elsewhere


def is_read(place: Place) -> bool:
    """Whether it is of the docs, the prices or the operator's pages."""
    return not place.path.strip("/") or place.path.startswith(places.PUBLIC)


def test_every_page_of_a_second_factor(open_page: OpenPage, values: scenes.Values, watch: Watch) -> None:
    scenes.arm(make_user("ada"))
    visits = [place for place in places.console(values) if "/2fa/" in place.path or "reauthenticate" in place.path]
    walk = Walk()
    walk.along(open_page(make_user("ada")), visits, watch)
    assert not walk.faults(), walk.faults()
    assert walk.pages > 7, walk.elsewhere


@pytest.mark.slow
def test_every_page_of_the_staff_area(staff: Page, values: scenes.Values, watch: Watch) -> None:
    walk = Walk()
    walk.along(staff, places.staff(), watch)
    assert not walk.faults(but=UNFOLDS_OWN), walk.faults(but=UNFOLDS_OWN)
    assert walk.pages > 40, walk.elsewhere
