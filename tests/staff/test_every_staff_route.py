"""Every path of the staff area, by everybody who may not go there or may only look. A new path is asked by itself."""

import pytest
from django.contrib.auth.models import Permission
from django.db import transaction
from django.test import Client

from tests.factories import make_user, staff_browser
from tests.hostile import scene
from tests.hostile.attacks import path_of
from tests.whole import Route, django_routes

pytestmark = pytest.mark.django_db

STAFF = [route for route in django_routes() if route.route.startswith("admin/")]
# What names nothing of anybody's: words of the calendar, and the ways to the console's own pages.
OPEN = {"admin/jsi18n/", "admin/login/", "admin/logout/", "admin/password_change/", "admin/password_change/done/"}
# Of staff without any right: an empty index, and where a name leads.
WITHOUT_RIGHTS = {"admin/", "admin/search/"}


@pytest.fixture(autouse=True)
def place(settings, tmp_path):
    settings.ANEX_STORAGE_DIR = tmp_path / "objects"
    return scene.made()


def signed_in(name: str, **fields: bool) -> Client:
    client = Client()
    client.force_login(make_user(name, **fields))
    return client


def ask(client: Client, method: str, path: str) -> tuple[int, str]:
    """The status and where it leads; what the request changed is undone."""
    with transaction.atomic():
        answer = client.generic(method, path, "reason=x", content_type="application/x-www-form-urlencoded")
        transaction.set_rollback(True)
    assert answer.status_code < 500, (method, path)
    return answer.status_code, answer.headers.get("Location", "")


def is_ours(route: Route) -> bool:
    return ".admin." in getattr(route.view, "__module__", "") and not route.view.__module__.startswith(
        ("django.", "unfold.")
    )


@pytest.mark.parametrize("who", ["customer", "staff without a factor"])
def test_nobody_gets_in_without_being_staff_with_a_second_factor(place, who):
    client = signed_in("joan") if who == "customer" else signed_in("clerk", is_staff=True, is_superuser=True)
    assert len(STAFF) > 150
    for route in STAFF:
        status, target = ask(client, "POST", path_of(route, place.value_of(route)))
        if route.route not in OPEN:
            assert status in (302, 403, 404), (route.route, status)
            assert not target or target.startswith(("/admin/login/?next=", "/accounts/")), (route.route, target)


def test_staff_without_rights_see_nothing(place):
    client = staff_browser("clerk", is_superuser=False)
    for route in STAFF:
        if route.route in OPEN | WITHOUT_RIGHTS:
            continue
        status, target = ask(client, "GET", path_of(route, place.value_of(route)))
        assert status in (302, 403, 404), (route.route, status)
        assert target in ("", "/admin/") or target.endswith("/change/") or "accounts" in target, (route.route, target)


def test_staff_who_may_look_change_nothing(place):
    client = staff_browser("clerk", is_superuser=False)
    make_user("clerk").user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    acts = [route for route in STAFF if is_ours(route) and not route.route.endswith("/change/")]
    assert len(acts) >= 25
    for route in acts:
        for method in ("GET", "POST"):
            status, _ = ask(client, method, path_of(route, place.value_of(route)))
            assert status == 403, (route.route, method, status)
