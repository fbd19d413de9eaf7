"""Who is in an organization: the last owner stays, roles are checked where they are written, nothing crosses over."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from django.test import Client

from accounts.models import AuditEvent, Membership
from accounts.services import memberships
from anex.core.errors import AnexError, Conflict, Forbidden, InvalidRequest, NotFound
from tests.factories import actor_of, add_member, make_organization, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme():
    return make_organization("Acme")


@pytest.fixture
def ada():
    return make_user("ada")


def roles(organization):
    return dict(organization.memberships.values_list("user__email", "role"))


def browser(user):
    client = Client()
    client.force_login(user)
    return client


def test_owner_changes_a_role_and_it_is_audited_with_what_it_was(acme, ada):
    joan = add_member(acme, "joan")
    memberships.change_role(organization_id=acme.pk, user_id=joan.pk, role="admin", actor=actor_of(ada))
    assert roles(acme)["joan@example.com"] == "admin"
    event = AuditEvent.objects.get(action="member.role")
    assert (event.actor_id, event.target, event.details) == (
        str(ada.pk),
        f"user:{joan.pk}",
        {"role": "admin", "was": "member"},
    )


def test_unknown_role_is_refused(acme, ada):
    with pytest.raises(InvalidRequest):
        memberships.change_role(organization_id=acme.pk, user_id=ada.pk, role="root", actor=actor_of(ada))


@pytest.mark.parametrize(
    "act",
    [
        lambda acme, ada: memberships.leave(organization_id=acme.pk, user_id=ada.pk, actor=actor_of(ada)),
        lambda acme, ada: memberships.remove(organization_id=acme.pk, user_id=ada.pk, actor=actor_of(ada)),
        lambda acme, ada: memberships.change_role(
            organization_id=acme.pk, user_id=ada.pk, role="member", actor=actor_of(ada)
        ),
    ],
)
def test_last_owner_can_neither_leave_nor_be_removed_nor_demoted(acme, ada, act):
    add_member(acme, "joan", "admin")
    with pytest.raises(Conflict, match="at least one owner"):
        act(acme, ada)
    assert roles(acme)["ada@example.com"] == "owner"


def test_transfer_makes_the_heir_owner_and_the_giver_admin(acme, ada):
    joan = add_member(acme, "joan")
    memberships.transfer_ownership(organization_id=acme.pk, user_id=joan.pk, actor=actor_of(ada))
    assert roles(acme) == {"ada@example.com": "admin", "joan@example.com": "owner"}
    with pytest.raises(Forbidden, check=lambda refusal: refusal.code == "forbidden"):
        memberships.transfer_ownership(organization_id=acme.pk, user_id=ada.pk, actor=actor_of(ada))


def test_admin_touches_no_owner_and_makes_none(acme, ada):
    joan, mary = add_member(acme, "joan", "admin"), add_member(acme, "mary")
    asked = {"organization_id": acme.pk, "actor": actor_of(joan)}
    for refused in (
        lambda: memberships.change_role(**asked, user_id=ada.pk, role="member"),
        lambda: memberships.change_role(**asked, user_id=mary.pk, role="owner"),
        lambda: memberships.change_role(**asked, user_id=joan.pk, role="owner"),
        lambda: memberships.remove(**asked, user_id=ada.pk),
    ):
        with pytest.raises(Forbidden):
            refused()
    assert roles(acme) == {"ada@example.com": "owner", "joan@example.com": "admin", "mary@example.com": "member"}


def test_person_of_another_organization_is_the_same_as_nobody(acme, ada):
    make_organization("Globex")
    grace, client = make_user("grace"), browser(ada)
    for verb, data in (("role", {"role": "member"}), ("remove", {}), ("transfer", {})):
        foreign = client.post(f"/members/{grace.pk}/{verb}", data)
        unknown = client.post(f"/members/999999/{verb}", data)
        assert (foreign.status_code, foreign.content) == (404, unknown.content)
    with pytest.raises(NotFound):
        memberships.remove(organization_id=acme.pk, user_id=grace.pk, actor=actor_of(ada))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("verb", ["leave", "remove each other", "demote each other"])
def test_two_owners_who_go_at_once_leave_one_behind(verb):
    acme = make_organization("Acme")
    owners = [make_user("ada"), add_member(acme, "joan", "owner")]
    start = threading.Barrier(2)

    def go(index):
        actor, other = owners[index], owners[1 - index]
        asked = {"organization_id": acme.pk, "actor": actor_of(actor)}
        start.wait()
        try:
            if verb == "leave":
                memberships.leave(**asked, user_id=actor.pk)
            elif verb == "remove each other":
                memberships.remove(**asked, user_id=other.pk)
            else:
                memberships.change_role(**asked, user_id=other.pk, role="member")
        except AnexError as error:
            return error.status
        finally:
            connections.close_all()
        return 200

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(go, range(2)))
    assert sorted(answers)[0] == 200
    assert sorted(answers)[1] in (403, 409)
    assert Membership.objects.filter(organization=acme, role="owner").count() == 1


def test_switching_changes_what_every_page_shows(acme, ada):
    other = make_organization("Initech", owner=ada)
    client = browser(ada)
    assert "<h1>Acme</h1>" in client.get("/dashboard").content.decode()
    assert client.post(f"/organizations/{other.pk}/switch")["Location"] == "/dashboard"
    assert "<h1>Initech</h1>" in client.get("/dashboard").content.decode()
    assert "ada@example.com" in client.get("/members").content.decode()


def test_switching_to_a_foreign_organization_is_the_same_as_to_none(acme, ada):
    foreign, client = make_organization("Globex"), browser(ada)
    answers = [
        client.post(f"/organizations/{pk}/switch") for pk in (foreign.pk, "00000000-0000-0000-0000-000000000000")
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    assert "<h1>Acme</h1>" in client.get("/dashboard").content.decode()


def test_who_was_removed_falls_back_to_their_next_organization(acme, ada):
    joan = add_member(acme, "joan")
    home = make_organization("Home", owner=joan)
    client = browser(joan)
    client.post(f"/organizations/{acme.pk}/switch")
    memberships.remove(organization_id=acme.pk, user_id=joan.pk, actor=actor_of(ada))
    assert f"<h1>{home.name}</h1>" in client.get("/dashboard").content.decode()


def test_one_page_reads_the_memberships_once(acme, ada, django_assert_max_num_queries):
    client = browser(ada)
    for number in range(5):
        make_organization(f"Org {number}", owner=ada)
    client.get("/keys")
    with django_assert_max_num_queries(7):
        page = client.get("/keys").content.decode()
    assert page.count("/switch") == 5


def test_many_members_are_shown_page_by_page_and_found_by_address(acme, ada, django_assert_num_queries):
    for number in range(60):
        add_member(acme, f"person{number:02d}")
    owner = browser(ada)
    owner.get("/members")
    shown, path, counts = [], "/members", []
    while path:
        with django_assert_num_queries(8):
            answer = owner.get(path)
        shown += [person.user.email for person, _ in answer.context["people"]]
        counts.append(len(answer.context["people"]))
        path = f"/members?{answer.context['more']}" if answer.context["more"] else ""
    assert counts == [50, 11]
    assert len(set(shown)) == 61
    found = owner.get("/members", {"find": "PERSON59"}).context["people"]
    assert [person.user.email for person, _ in found] == ["person59@example.com"]
    assert "Nobody here" in owner.get("/members", {"find": "nobody-at-all"}).content.decode()
    assert owner.get("/members", {"after": "٣"}).status_code == 200
