"""Every cell of the permission table: the rule, the page in docs, and what the console answers."""

from dataclasses import dataclass

import pytest
from django.test import Client

from accounts.models import Membership
from accounts.permissions import RULES, Action, may, page
from accounts.services import organizations
from anex.core.actors import Actor
from anex.settings.base import BASE_DIR
from tests.console import scenes
from tests.factories import add_member, grant_credits, make_organization, make_user

WORK = ["view", "submit_job", "approve_job", "cancel_job", "download_result", "delete_data", "use_playground", "leave"]
MANAGING = ["create_key", "revoke_key", "manage_webhooks", "manage_billing", "rename", "manage_members"]
OWNING = ["manage_owners", "read_audit"]
SHUT = ["submit_job", "approve_job", "create_key", "use_playground"]

CELLS = [("owner", action, True) for action in WORK + MANAGING + OWNING]
CELLS += [("admin", action, action not in OWNING) for action in WORK + MANAGING + OWNING]
CELLS += [("member", action, action in WORK) for action in WORK + MANAGING + OWNING]
CELLS += [("stranger", action, False) for action in WORK + MANAGING + OWNING]


@pytest.mark.parametrize(("role", "action", "allowed"), CELLS)
def test_role_may_do_exactly_what_the_table_says(role, action, allowed):
    assert may(role, Action(action)) is allowed


@pytest.mark.parametrize("action", list(Action))
def test_suspension_shuts_new_work_and_keys_and_nothing_else(action):
    assert may("owner", action, suspended=True) is (action not in SHUT)


def test_every_role_and_every_action_is_in_the_table():
    assert set(RULES) == set(Action) == set(WORK + MANAGING + OWNING)
    assert set().union(*(rule.roles for rule in RULES.values())) == set(Membership.Role.values)


def test_the_page_in_docs_equals_the_table():
    assert (BASE_DIR / "docs" / "roles.md").read_text() == page(), "run: manage.py roles"


@dataclass
class Scene:
    """Acme with a job that is done, a member and an owner to act upon."""

    done: str
    grace: int
    owner: int


@pytest.fixture
def acme(db, tmp_path, settings):
    settings.ANEX_STORAGE_DIR = tmp_path / "objects"
    organization = make_organization("Acme")
    grant_credits(organization)
    return organization


@pytest.fixture
def scene(acme):
    return Scene(
        done=str(scenes.done(acme).pk),
        grace=add_member(acme, "grace").pk,
        owner=add_member(acme, "katherine", "owner").pk,
    )


# What depends on more than the action of the page, whose table is in test_every_role.py: whose role it is about.
REQUESTS = [
    ("manage_members", "/members/{0.grace}/role", {"role": "admin"}),
    ("manage_members", "/members/{0.grace}/remove", {}),
    ("manage_members", "/invitations/new", {"email": "new@example.com", "role": "member"}),
    ("manage_owners", "/members/{0.grace}/role", {"role": "owner"}),
    ("manage_owners", "/members/{0.owner}/role", {"role": "member"}),
    ("manage_owners", "/members/{0.owner}/remove", {}),
    ("manage_owners", "/invitations/new", {"email": "new@example.com", "role": "owner"}),
]


@pytest.mark.parametrize("role", ["owner", "admin", "member"])
@pytest.mark.parametrize(("action", "path", "data"), REQUESTS)
def test_console_answers_each_role_as_the_table_says(acme, scene, role, action, path, data):
    client = Client()
    client.force_login(add_member(acme, "joan", role))
    answer = client.post(path.format(scene), data)
    assert (answer.status_code != 403) is may(role, Action(action)), answer.status_code
    assert answer.status_code < 500


def test_suspended_organization_still_lets_its_people_go(acme, scene):
    organizations.suspend(organization_id=acme.pk, actor=Actor("staff", "1"), reason="unpaid")
    client = Client()
    client.force_login(make_user("katherine"))
    assert client.get(f"/jobs/{scene.done}/result").status_code == 302
    assert client.post("/members/leave").status_code == 302
    assert not Membership.objects.filter(user_id=scene.owner).exists()
