import pytest
from django.db import Error, connection, transaction

from accounts.models import AuditEvent, Membership
from accounts.selectors import memberships
from accounts.services import audit, organizations
from anex.core.actors import Actor, system
from anex.core.errors import Conflict, InvalidRequest
from tests.factories import actor_of, make_organization, make_user

pytestmark = pytest.mark.django_db

STAFF = Actor("staff", "7")


def test_creator_becomes_the_owner():
    ada = make_user()
    acme = organizations.create(name="  Acme ", owner_id=ada.pk, actor=actor_of(ada))
    assert acme.name == "Acme"
    assert list(acme.memberships.values_list("user_id", "role")) == [(ada.pk, Membership.Role.OWNER)]


@pytest.mark.parametrize("change", [organizations.suspend, organizations.resume])
def test_suspending_and_resuming_need_a_reason(change):
    with pytest.raises(InvalidRequest):
        change(organization_id=make_organization().pk, actor=STAFF, reason="  ")


def test_suspending_twice_is_a_conflict_and_audited_once():
    acme = make_organization()
    organizations.suspend(organization_id=acme.pk, actor=STAFF, reason="unpaid invoice")
    with pytest.raises(Conflict), transaction.atomic():
        organizations.suspend(organization_id=acme.pk, actor=STAFF, reason="again")
    event = AuditEvent.objects.get(action="organization.suspend")
    assert (event.actor_kind, event.actor_id, event.reason) == ("staff", "7", "unpaid invoice")


def test_resuming_an_active_organization_is_a_conflict():
    with pytest.raises(Conflict):
        organizations.resume(organization_id=make_organization().pk, actor=STAFF, reason="mistake")


@pytest.mark.parametrize("change", [lambda events: events.update(reason="x"), lambda events: events.delete()])
def test_database_refuses_to_change_or_delete_an_audit_event(change):
    audit.record(organization_id=None, actor=system("tests"), action="test")
    with pytest.raises(Error, match="append-only"), transaction.atomic():
        change(AuditEvent.objects.filter(action="test"))
    assert AuditEvent.objects.get(action="test").reason == ""


def test_database_refuses_to_empty_the_audit_record():
    with connection.cursor() as cursor:
        # The suite switches this trigger off, so that it can empty its tables; here it is on.
        cursor.execute("ALTER TABLE accounts_auditevent ENABLE TRIGGER accounts_auditevent_refuse_truncate")
        with pytest.raises(Error, match="append-only"), transaction.atomic():
            cursor.execute("TRUNCATE accounts_auditevent")


def test_memberships_of_a_person_start_with_the_oldest():
    ada = make_user()
    first = make_organization("Acme")
    make_organization("Initech")
    assert memberships.of_person(ada.pk)[0].organization == first
    assert memberships.of_person(make_user("nobody").pk) == []


def test_in_flight_limit_is_audited_with_what_it_was():
    acme = make_organization()
    for limit in (64, None):
        organizations.limit_in_flight(organization_id=acme.pk, limit=limit, actor=STAFF, reason="asked for it")
    acme.refresh_from_db()
    assert acme.in_flight_limit is None
    events = AuditEvent.objects.filter(action="organization.limit").order_by("pk")
    assert [event.details for event in events] == [{"limit": 64, "was": None}, {"limit": None, "was": 64}]


@pytest.mark.parametrize("limit", [0, -1, 100_001, 2**64 - 1])
def test_absurd_in_flight_limit_is_refused(limit):
    with pytest.raises(InvalidRequest):
        organizations.limit_in_flight(organization_id=make_organization().pk, limit=limit, actor=STAFF, reason="x")
