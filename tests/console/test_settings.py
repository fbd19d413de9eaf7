"""One page for everything that is set for an organization."""

from django.test import Client

from accounts.models import AuditEvent
from tests.factories import add_member


def page(browser):
    answer = browser.get("/settings")
    assert answer.status_code == 200
    return answer.content.decode()


def test_page_names_every_rule_with_the_way_to_change_it(ada, acme):
    html = page(ada)
    for shown in ("Auto-approve", "Alerts by e-mail", "Where batch data is kept", "Plan", str(acme.pk)):
        assert shown in html
    for link in ("/jobs/auto-approve", "/alerts", "/credits", "/members", "/members/leave"):
        assert f'href="{link}"' in html


def test_members_see_the_same_without_forms(ada, acme):
    member = Client()
    member.force_login(add_member(acme, "mary"))
    html = page(member)
    assert "Rename" not in html
    assert "See the rule" in html
    assert member.post("/settings/name", {"name": "Mine"}).status_code == 403


def test_name_is_changed_once_and_written_down(ada, acme):
    for _ in range(2):
        assert ada.post("/settings/name", {"name": " Acme and sons "})["Location"] == "/settings"
    assert "Acme and sons" in page(ada)
    event = AuditEvent.objects.get(organization_id=acme.pk, action="organization.rename")
    assert event.details == {"name": "Acme and sons", "was": "Acme"}
    answer = ada.post("/settings/name", {"name": "\t"})
    assert answer.status_code == 400
    assert "text-error" in answer.content.decode()


def test_queries_do_not_grow_with_members(ada, acme, django_assert_max_num_queries):
    for number in range(5):
        add_member(acme, f"person{number}")
    with django_assert_max_num_queries(12):
        page(ada)
