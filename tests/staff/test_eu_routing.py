"""Staff turns EU data routing on and off, with a reason, where an API serves the EEA."""

import pytest
from django.urls import reverse

from accounts.models import AuditEvent
from tests.factories import make_organization, staff_browser

pytestmark = pytest.mark.django_db


def turn(browser, organization, name: str, reason: str = "asked for it"):
    answer = browser.post(reverse(f"admin:accounts_organization_{name}", args=[organization.pk]), {"reason": reason})
    organization.refresh_from_db()
    return answer


def test_it_is_turned_on_and_off_and_recorded(settings):
    settings.ANEX_OTHER_REGION_URL = "https://api-eu.anex.test"
    browser, acme = staff_browser(), make_organization("Acme")
    assert turn(browser, acme, "route_to_eu").status_code == 302
    assert acme.eu_routing
    assert "already" in turn(browser, acme, "route_to_eu").content.decode()
    assert turn(browser, acme, "route_to_world").status_code == 302
    assert not acme.eu_routing
    actions = AuditEvent.objects.filter(organization=acme, actor_kind="staff").order_by("pk")
    assert list(actions.values_list("action", "reason")) == [
        ("organization.eu_routing_on", "asked for it"),
        ("organization.eu_routing_off", "asked for it"),
    ]


def test_without_an_api_in_the_eea_it_stays_off():
    browser, acme = staff_browser(), make_organization("Acme")
    assert "ANEX_OTHER_REGION_URL" in turn(browser, acme, "route_to_eu").content.decode()
    assert not acme.eu_routing
