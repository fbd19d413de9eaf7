"""The browser tests see what they are there to see."""

from urllib.parse import urlsplit

from playwright.sync_api import Page

from tests.browser.conftest import OpenPage
from tests.browser.looks import assert_accessible, assert_fits, violations
from tests.browser.site import Site
from tests.browser.watch import Watch
from tests.factories import make_user


def test_everybody_is_who_they_are(owner: Page, admin: Page, member: Page, staff: Page, visitor: Page) -> None:
    places = {owner: "/members", admin: "/members", member: "/members", staff: "/admin/", visitor: "/members"}
    for page, path in places.items():
        page.goto(path)
    assert [urlsplit(page.url).path for page in places] == [*list(places.values())[:4], "/accounts/login/"]


def test_a_page_that_does_what_none_may_is_seen(owner: Page, watch: Watch) -> None:
    owner.route("**/no-such-host/**", lambda route: route.abort())
    owner.goto("/keys")
    owner.evaluate("fetch('http://127.0.0.1:9/no-such-host/').catch(() => 0)")
    owner.evaluate("document.body.setAttribute('onclick', 'alert(1)')")
    owner.evaluate("setTimeout(() => { throw new Error('broken') }, 0)")
    owner.goto("/no-such-page")
    seen = "\n".join(watch.faults)
    assert "Content Security Policy" in seen
    assert "broken" in seen
    assert "status of 404" in seen
    for text in ("Content Security Policy", "broken", "status of 404", "127.0.0.1:9"):
        watch.expect(text)


def test_another_host_is_seen(visitor: Page, watch: Watch) -> None:
    visitor.route("http://elsewhere.test/**", lambda route: route.fulfill(body="hello"))
    visitor.goto("http://elsewhere.test/page")
    assert watch.faults == ["another host: http://elsewhere.test/page"]
    watch.expect("http://elsewhere.test/page")


def test_axe_sees_what_nobody_can_read(visitor: Page) -> None:
    visitor.goto("/accounts/login/")
    visitor.set_content("<html lang=en><title>t</title><main><h1>h</h1><img src='data:,'></main></html>")
    assert [line.partition(":")[0] for line in violations(visitor, "light")] == ["image-alt"]
    visitor.locator("img").evaluate("(image) => image.alt = 'a dot'")
    assert_accessible(visitor)


def test_a_page_without_javascript_and_one_on_a_phone(open_page: OpenPage, site: Site, acme: object) -> None:
    plain = open_page(make_user("ada"), javascript=False, phone=True)
    plain.goto("/dashboard")
    assert plain.viewport_size == {"width": 375, "height": 740}
    assert plain.get_by_role("heading", level=1).is_visible()
    assert_fits(plain)
    assert site.letters("ada@example.com") == []
