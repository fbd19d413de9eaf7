"""`make screenshots`: every page in both themes and on a phone, as files in `var/screenshots`.

A test for the sake of its database and web process; outside the suite, for its name collects nothing.
"""

import shutil

from playwright.sync_api import Page

from accounts.models import Organization
from anex.settings.environment import VAR_DIR
from tests.browser import places, scenes
from tests.browser.conftest import DESKTOP, PHONE, OpenPage
from tests.browser.looks import THEMES
from tests.browser.places import Place
from tests.browser.watch import Watch
from tests.factories import make_user

FOLDER = VAR_DIR / "screenshots"


def take(page: Page, visits: list[Place]) -> list[Place]:
    """Photograph the pages among them; returns the others."""
    elsewhere = []
    for place in visits:
        if places.look_up(page, place.path) != "page":
            elsewhere.append(place)
            continue
        name = place.path.strip("/").replace("/", "-") or "index"
        for theme in THEMES:
            # The staff area reads the theme once, when it is loaded.
            page.emulate_media(color_scheme=theme)
            page.goto(place.path)
            page.screenshot(path=FOLDER / f"{name}-{theme}.png", full_page=True, animations="disabled")
        page.set_viewport_size(PHONE)
        page.screenshot(path=FOLDER / f"{name}-phone.png", full_page=True, animations="disabled")
        page.set_viewport_size(DESKTOP)
    return elsewhere


def test_take_them(
    open_page: OpenPage, owner: Page, visitor: Page, staff: Page, acme: Organization, watch: Watch
) -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    watch.expect("")
    values = scenes.furnish(acme, make_user("ada"))
    elsewhere = take(owner, places.console(values))
    take(visitor, elsewhere)
    scenes.arm(make_user("ada"))
    take(open_page(make_user("ada")), [place for place in elsewhere if "/2fa/" in place.path])
    take(staff, places.staff())
    print(f"{len(list(FOLDER.iterdir()))} files in {FOLDER}")
