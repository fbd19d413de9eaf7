"""Every route of the URL conf and of the raw table under hostile requests: an answer, never a fault of ours.

No 500, no connection that is closed or hangs, no stack, no secret in an answer or in the log, no redirect elsewhere, no
forged header. A new route is attacked by itself, and so is whatever field or parameter its handler reads.
ANEX_TEST_HOSTILE is how many requests each route gets; `make hostile` sends more, and to some routes alone where
ANEX_TEST_HOSTILE_ROUTES is a pattern.
"""

import os
import re
import time
from collections import Counter
from typing import Any

import pytest

from tests.hostile import names, scene
from tests.hostile.attacks import Attack, attacks, path_of
from tests.hostile.bodies import FORM, JSON
from tests.hostile.walker import Sender, fault
from tests.whole import Route, django_routes, raw_routes

pytestmark = pytest.mark.django_db(transaction=True)

EACH = int(os.environ.get("ANEX_TEST_HOSTILE", "2"))
ROUTES = re.compile(os.environ.get("ANEX_TEST_HOSTILE_ROUTES", ""))
PLAIN = {JSON: b"{}", FORM: b"x=y"}
# Pages that the libraries of the staff area make of every table alike.
_ALIKE = ("django.", "unfold.", "functools")


@pytest.fixture
def walk(settings, place, sender):
    with names.noted() as noted:
        yield Walk(place, sender, noted, own=(f"http://{sender.address}/", settings.ANEX_PUBLIC_URL))


class Walk:
    """Goes from route to route and keeps what went wrong."""

    def __init__(self, place: scene.Scene, sender: Sender, noted: set[str], *, own: tuple[str, ...]) -> None:
        self.secrets = scene.secrets_of(place)
        self.statuses = Counter[int]()
        self.slowest: tuple[float, Any] = (0.0, None)
        self.wrong: list[str] = []
        self._place, self._sender, self._noted, self._own = place, sender, noted, own

    def attack(self, route: Route) -> None:
        """Ask as people do, to learn what is read; then everything else."""
        value_of = self._place.value_of(route)
        plain, each, methods = path_of(route, value_of), EACH, {"GET", "POST"}
        self._noted.clear()
        if route.route.startswith("admin/") and getattr(route.view, "__module__", "").startswith(_ALIKE):
            each = max(1, EACH // 4)
        else:
            kind = JSON if route.view is None or hasattr(route.view, "cls") else FORM
            asked = [Attack("GET", plain)]
            if not route.view or not route.view.__module__.startswith("anex.docs."):
                asked.append(Attack("POST", plain, (("Content-Type", kind),), PLAIN[kind]))
            methods = {attack.method for attack in asked if self._send(route, attack) != 405}
        for attack in attacks(route, set(self._noted), value_of, methods)[:each]:
            self._send(route, attack)

    def _send(self, route: Route, attack: Attack) -> int:
        began = time.monotonic()
        answer = self._sender.send(attack)
        self.slowest = max(self.slowest, (time.monotonic() - began, attack), key=lambda pair: pair[0])
        self.statuses[answer.status] += 1
        if found := fault(attack, answer, secrets=self.secrets, own=self._own):
            self.wrong.append(f"{route.route}: {found}: {attack} {attack.content[:60]!r}")
        if "anex_session" in answer.header("set-cookie"):
            self._place.sign_in(self._sender)
        return answer.status


def by_surface(route: Route) -> int:
    """Those last whose handlers may take the others' ground away: signing out, and what staff do."""
    return 2 if route.route.startswith("admin") else int(route.route.startswith("accounts"))


def test_no_route_is_hurt_by_what_is_sent_to_it(walk, lines):
    for route in sorted([*raw_routes(), *django_routes()], key=by_surface):
        if ROUTES.match(route.route):
            walk.attack(route)
    statuses = dict(sorted(walk.statuses.items()))
    print(f"\n{walk.statuses.total()} requests, {statuses}; the slowest {walk.slowest[0]:.2f} s, {walk.slowest[1]}")
    assert not walk.wrong, "\n".join(walk.wrong[:40]) + f"\n{len(walk.wrong)} in all"
    assert not lines.faults, "\n".join(lines.faults[:5])
    told = "\n".join(lines.written)
    assert not [secret for secret in walk.secrets if secret in told]
