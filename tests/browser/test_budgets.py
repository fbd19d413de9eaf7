"""Pages stay small and ask little, however large the customer is; `make bench-pages` measures how long they take."""

import pytest
from django.db import connection, transaction
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import CDPSession, Page

from accounts.models import Organization
from tests.browser import crowd, places, scenes
from tests.browser.places import Place
from tests.browser.watch import Watch
from tests.factories import make_user

MOST_BYTES = 150_000
MOST_QUERIES = 30
# A list that was empty or short may look up what its rows name, once for all of them.
MORE_FOR_MANY = 3


@pytest.mark.slow
def test_pages_of_a_large_customer_are_as_cheap_as_of_a_small_one(
    owner: Page, acme: Organization, watch: Watch
) -> None:
    visits = in_console(owner, scenes.furnish(acme, make_user("ada")))
    assert len(visits) > 40
    few = {place: queries(place) for place in visits}
    with transaction.atomic():
        crowd.gather(acme, make_user("ada"))
    many = {place: queries(place) for place in visits}
    assert {place.path: (few[place], many[place]) for place in visits if many[place] > few[place] + MORE_FOR_MANY} == {}
    assert {place.path: count for place, count in many.items() if count > MOST_QUERIES} == {}

    scale = Scale(owner)
    transferred = {place.path: scale.weigh(place) for place in visits}
    assert {path: size for path, size in transferred.items() if size >= MOST_BYTES} == {}


def in_console(page: Page, values: scenes.Values) -> list[Place]:
    """The pages of the console that the person has, each once."""
    found = {place.path: place for place in places.console(values) if not place.path.startswith(places.PUBLIC)}
    return [place for place in found.values() if places.look_up(page, place.path) == "page"]


def queries(place: Place) -> int:
    """How often the database is asked for the page, the session's two included."""
    browser = Client()
    browser.force_login(make_user("ada"))
    browser.get(place.path)
    with CaptureQueriesContext(connection) as asked:
        answer = browser.get(place.path)
    assert isinstance(answer, HttpResponse)
    return len(asked)


class Scale:
    """Weighs pages as a browser loads them that has nothing in its cache."""

    def __init__(self, page: Page) -> None:
        self._page, self._bytes = page, 0
        session: CDPSession = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        session.on("Network.loadingFinished", self._add)

    def _add(self, event: dict[str, float]) -> None:
        self._bytes += int(event["encodedDataLength"])

    def weigh(self, place: Place) -> int:
        """Bytes over the wire, headers included, for everything that the page loads."""
        self._page.goto("about:blank")
        self._bytes = 0
        self._page.goto(place.path)
        return self._bytes
