"""A real browser before a real web process. The web process and the browser live as long as the tests of this folder.

    def test_a_key_is_made(owner: Page) -> None:
        owner.goto("/keys")
        ...
        assert_accessible(owner)

`owner`, `admin`, `member` (of `acme`), `staff` and `visitor` are pages; `open_page` makes others: of another person,
of a phone, without JavaScript. Every page is watched: see `Watch`. Rows come from the factories, as everywhere; `site`
holds the letters that were sent, `engine` and `pump` run jobs on the model `scripted`. Name fixtures as arguments
instead of asking by `getfixturevalue`: Playwright must start after the database.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from allauth.account.internal.flows.login import record_authentication
from django.db import connection, connections
from django.http import HttpRequest
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from accounts import second_factor
from accounts.models import Organization, User
from tests.browser import chromium
from tests.browser import site as sites
from tests.browser.site import Site
from tests.browser.watch import Watch
from tests.factories import add_member, make_organization, make_user, pass_second_factor
from tests.jobs.run.conftest import engine, kept_engine, kept_journal, pump, served

__all__ = ["engine", "kept_engine", "kept_journal", "pump", "served"]

# A page of a busy machine takes long; only what fails waits for it.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 375, "height": 740}
OpenPage = Callable[..., Page]


@pytest.fixture(scope="package")
def web(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with django_db_blocker.unblock(), sites.running(tmp_path_factory.mktemp("site")) as running:
        yield running


@pytest.fixture(scope="package")
def browser(web: Site) -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as patch, chromium.running() as running:
        # Playwright's loop stands still in this thread while a test asks the database.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        yield running
        # Because of that loop they are others than those of other tests.
        connections.close_all()


@pytest.fixture
def site(web: Site, transactional_db: None, settings: Any) -> Iterator[Site]:
    """Where the pages come from; what the test does itself goes to the same store and address."""
    settings.ANEX_STORAGE_DIR, settings.ANEX_PUBLIC_URL = web.storage, web.url
    yield web
    web.clear()
    with connection.cursor() as cursor:
        # The web process remembers the ids of content types, which are made anew after each test.
        cursor.execute("ALTER SEQUENCE django_content_type_id_seq RESTART")


@pytest.fixture
def watch(site: Site) -> Iterator[Watch]:
    watching = Watch(site.url)
    yield watching
    assert watching.faults == []


@pytest.fixture
def open_page(browser: Browser, site: Site, watch: Watch) -> Iterator[OpenPage]:
    """`open_page(user=None, phone=False, **context)`: a page in a browser of its own, in which `user` is signed in."""
    contexts = []

    def open_page(user: User | None = None, *, phone: bool = False, javascript: bool = True, **options: Any) -> Page:
        size = PHONE if phone else DESKTOP
        context = browser.new_context(
            **{"base_url": site.url, "viewport": size, "java_script_enabled": javascript, "reduced_motion": "reduce"}
            | options
        )
        contexts.append(context)
        watch.follow(context)
        context.set_default_timeout(PATIENCE_MS)
        if user:
            context.add_cookies([{"name": name, "value": value, "url": site.url} for name, value in cookies(user)])
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()


def cookies(user: User) -> list[tuple[str, str]]:
    """Those of a browser in which the person has just given the password, and the second factor where there is one."""
    client = Client()
    client.force_login(user)
    if user.is_staff or second_factor.is_set_up(user):
        pass_second_factor(client, user)
    request = HttpRequest()
    request.session = client.session
    record_authentication(request, user, "password", reauthenticated=True)
    request.session.save()
    return [(name, morsel.value) for name, morsel in client.cookies.items()]


@pytest.fixture
def acme(site: Site) -> Organization:
    return make_organization("Acme")


@pytest.fixture
def owner(open_page: OpenPage, acme: Organization) -> Page:
    return open_page(make_user("ada"))


@pytest.fixture
def admin(open_page: OpenPage, acme: Organization) -> Page:
    return open_page(add_member(acme, "barbara", "admin"))


@pytest.fixture
def member(open_page: OpenPage, acme: Organization) -> Page:
    return open_page(add_member(acme, "charles"))


@pytest.fixture
def staff(open_page: OpenPage, acme: Organization) -> Page:
    """A superuser who is nobody's member; Acme exists."""
    return open_page(make_user("root", is_staff=True, is_superuser=True))


@pytest.fixture
def visitor(open_page: OpenPage) -> Page:
    """Nobody is signed in."""
    return open_page()
