"""Every address of the console, the account pages, the docs and the staff area, from the URL conf."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

from django.apps import apps
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from playwright.sync_api import Page

from tests.browser.scenes import Values

# What everybody reads: the docs, the prices, the operator's pages.
PUBLIC = ("/docs", "/models", "/pric", "/blog", "/terms", "/privacy", "/support")
# What programs call.
PROGRAMS = ("batch/", "v1/", "openai/", "realtime/", "metrics", "static/")
# They end the session, need what only a letter or a device holds (stories go through those), or are switched off.
ELSEWHERE = (
    "account_logout",
    "account_confirm_email",
    "account_reset_password_from_key",
    "account_request_reauthentication_code",
    "account_confirm_reauthentication_code",
    "mfa_edit_webauthn",
    "mfa_remove_webauthn",
)
# Of what the staff area has for each table, these are read-only twins of the page of a row, or refused everywhere.
TWINS = ("_add", "_delete", "_history")


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class _Route:
    name: str
    path: str
    parameters: tuple[str, ...]


def console(values: Values) -> list[Place]:
    """Everything but the APIs and the staff area; fails for a parameter that `scenes` does not know."""
    return [
        Place(route.name, reverse(route.name, kwargs=dict(zip(route.parameters, given, strict=True))))
        for route in _routes(get_resolver())
        if not route.path.startswith((*PROGRAMS, "admin/")) and route.name not in ELSEWHERE
        for given in product(*(_values(route, name, values) for name in route.parameters))
    ]


def staff() -> list[Place]:
    """The front page, every list, and of each list the forms about its first row."""
    places = [Place("admin:index", reverse("admin:index"))]
    tables = {f"admin:{model._meta.app_label}_{model._meta.model_name}_": model for model in apps.get_models()}
    for route in _routes(get_resolver()):
        model = next((tables[start] for start in tables if route.name.startswith(start)), None)
        if model is None or route.name.endswith(TWINS):
            continue
        row = model._default_manager.order_by("pk").first()
        if route.parameters != ("object_id",):
            places.append(Place(route.name, reverse(route.name)))
        elif row:
            places.append(Place(route.name, reverse(route.name, args=[row.pk])))
    return places


def look_up(page: Page, path: str) -> Literal["page", "elsewhere", "no page"] | str:
    """What is there for the person of the page: a whole page, a redirect or what a button calls, a file, or a fault."""
    answer = page.request.get(path, max_redirects=0)
    if answer.status in (204, 301, 302, 405):
        return "elsewhere"
    if answer.status != 200:
        return f"status {answer.status}"
    is_html = answer.headers["content-type"].startswith("text/html")
    return "page" if is_html and "<!doctype" in answer.text()[:50].lower() else "no page"


def _values(route: _Route, name: str, values: Values) -> list[object]:
    given = values.get(f"{route.name}.{name}", values.get(name))
    assert given is not None, f"tests/browser/scenes.py does not say what {name} is in {route.path}"
    return given if isinstance(given, list) else [given]


def _routes(resolver: URLResolver, path: str = "", namespace: str = "") -> Iterator[_Route]:
    for pattern in resolver.url_patterns:
        where = path + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            yield from _routes(pattern, where, inner)
        elif isinstance(pattern, URLPattern) and pattern.name:
            yield _Route(namespace + pattern.name, where, tuple(pattern.pattern.regex.groupindex))
