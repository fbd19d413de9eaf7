"""`make bench-pages`: how long the pages of a large customer take the server, and what they weigh.

The customer: 10,000 jobs, 100,000 ledger lines, 50 members. Outside the suite, for its name collects nothing.
"""

import statistics
import time

from django.db import transaction
from playwright.sync_api import Page

from accounts.models import Organization
from tests.browser import crowd, scenes
from tests.browser.conftest import cookies
from tests.browser.site import Site
from tests.browser.test_budgets import MOST_BYTES, Scale, in_console
from tests.factories import make_user
from tests.stack import send

MOST_MS = 200
ROUNDS = 3


def test_pages(owner: Page, acme: Organization, site: Site) -> None:
    visits = in_console(owner, scenes.furnish(acme, make_user("ada")))
    with transaction.atomic():
        crowd.gather(acme, make_user("ada"))
    scale, missed = Scale(owner), []
    cookie = "; ".join(f"{name}={value}" for name, value in cookies(make_user("ada")))
    print(f"\n{'page':60} {'ms, at most ' + str(MOST_MS):>18} {'kB, less than ' + str(MOST_BYTES // 1000):>20}")
    for place in visits:
        took, size = milliseconds(f"{site.url}{place.path}", cookie), scale.weigh(place)
        print(f"{place.path:60.60} {took:18.0f} {size / 1000:20.1f}")
        if took > MOST_MS or size >= MOST_BYTES:
            missed.append(place.path)
    assert not missed, f"over budget: {', '.join(missed)}"


def milliseconds(url: str, cookie: str) -> float:
    """Median of a few, from the request to the end of the answer."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        assert send(url, "GET", headers={"Cookie": cookie, "Accept-Encoding": "gzip"})[0] == 200
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000
