"""Every route of the console by each role, and every call of the APIs by each scope, as two tables say.

A route that is new must enter a table, or the last tests fail.
"""

from collections.abc import Callable

import pytest
from django.db import transaction
from django.test import Client

from accounts.callers import EVERY_SCOPE
from accounts.models import Organization
from accounts.permissions import ROLES, Action, may
from accounts.services import organizations
from anex.core.actors import system
from anex.refusals import API_PATHS
from tests.factories import add_member, make_key, make_user
from tests.hostile import scene
from tests.hostile.attacks import path_of
from tests.whole import Route, django_routes

pytestmark = pytest.mark.django_db

# What reading and what sending a form takes; nothing where the method is refused to everybody.
CONSOLE: dict[str, tuple[str, str]] = {
    "dashboard": ("view", ""),
    "dashboard/live": ("view", ""),
    "settings": ("view", ""),
    "settings/name": ("", "rename"),
    "alerts": ("view", "view"),
    "audit": ("read_audit", ""),
    "audit.csv": ("read_audit", ""),
    "members": ("view", ""),
    "members/leave": ("leave", "leave"),
    "members/<int:user_id>/role": ("", "manage_members"),
    "members/<int:user_id>/remove": ("manage_members", "manage_members"),
    "members/<int:user_id>/transfer": ("manage_owners", "manage_owners"),
    "invitations/new": ("manage_members", "manage_members"),
    "invitations/<uuid:invitation_id>/resend": ("", "manage_members"),
    "invitations/<uuid:invitation_id>/revoke": ("", "manage_members"),
    "keys": ("view", ""),
    "keys/new": ("create_key", "create_key"),
    "keys/<str:key_id>/edit": ("create_key", "create_key"),
    "keys/<str:key_id>/rotate": ("create_key", "create_key"),
    "keys/<str:key_id>/end-overlap": ("", "revoke_key"),
    "keys/<str:key_id>/revoke": ("revoke_key", "revoke_key"),
    "jobs": ("view", ""),
    "jobs/auto-approve": ("view", "manage_billing"),
    "jobs/new": ("submit_job", "submit_job"),
    "jobs/new/upload": ("", "submit_job"),
    "jobs/new/file": ("", "submit_job"),
    "jobs/new/sample": ("", "submit_job"),
    "jobs/new/input/<uuid:input_id>": ("submit_job", ""),
    "jobs/<uuid:job_id>": ("view", ""),
    "jobs/<uuid:job_id>/live": ("view", ""),
    "jobs/<uuid:job_id>/approve": ("", "approve_job"),
    "jobs/<uuid:job_id>/cancel": ("cancel_job", "cancel_job"),
    "jobs/<uuid:job_id>/pause": ("", "cancel_job"),
    "jobs/<uuid:job_id>/resume": ("", "approve_job"),
    "jobs/<uuid:job_id>/retry": ("", "submit_job"),
    "jobs/<uuid:job_id>/delete": ("delete_data", "delete_data"),
    "jobs/<uuid:job_id>/result": ("download_result", ""),
    "jobs/<uuid:job_id>/results": ("download_result", ""),
    "jobs/<uuid:job_id>/results/<int:number>": ("download_result", ""),
    "jobs/<uuid:job_id>/errors": ("download_result", ""),
    "playground": ("use_playground", ""),
    "playground/embeddings": ("use_playground", ""),
    "playground/decisions": ("use_playground", ""),
    "playground/key": ("", "use_playground"),
    "playground/requests/<str:request_id>": ("use_playground", ""),
    "webhooks": ("manage_webhooks", ""),
    "webhooks/new": ("manage_webhooks", "manage_webhooks"),
    "webhooks/<uuid:endpoint_id>": ("manage_webhooks", ""),
    "webhooks/<uuid:endpoint_id>/edit": ("manage_webhooks", "manage_webhooks"),
    "webhooks/<uuid:endpoint_id>/rotate": ("manage_webhooks", "manage_webhooks"),
    "webhooks/<uuid:endpoint_id>/end-overlap": ("", "manage_webhooks"),
    "webhooks/<uuid:endpoint_id>/enable": ("", "manage_webhooks"),
    "webhooks/<uuid:endpoint_id>/disable": ("", "manage_webhooks"),
    "webhooks/<uuid:endpoint_id>/delete": ("manage_webhooks", "manage_webhooks"),
    "webhooks/<uuid:endpoint_id>/test": ("", "manage_webhooks"),
    "webhooks/deliveries/<uuid:delivery_id>": ("manage_webhooks", ""),
    "webhooks/deliveries/<uuid:delivery_id>/resend": ("", "manage_webhooks"),
    "credits": ("view", ""),
    "credits/ledger.csv": ("view", ""),
    "credits/statements/<int:year>-<int:month>": ("view", ""),
    "credits/alert": ("", "manage_billing"),
    "credits/add": ("manage_billing", "manage_billing"),
    "credits/auto": ("", "manage_billing"),
    "credits/auto/forget": ("", "manage_billing"),
    "credits/payments/<uuid:topup_id>": ("view", ""),
    "credits/payments/<uuid:topup_id>/receipt": ("view", ""),
    "usage": ("view", ""),
    "usage.csv": ("view", ""),
    "billing/local/<uuid:topup_id>": ("manage_billing", "manage_billing"),
}
# No role is asked for: what everybody may do who is signed in, or who has a token, a signature or a browser.
OF_NO_ROLE = {
    "organizations/new",
    "organizations/<uuid:organization_id>/switch",
    "invitations/<str:token>",
    "billing/webhooks/<slug:gateway_name>",
    "metrics",
    "theme",
}
READS, WRITES = {"batch:read"}, {"batch:write"}
FILLS = {"text:write", "embeddings:write"}
# By method; an empty set is whatever key there is.
API: dict[str, dict[str, set[str]]] = {
    "batch/v1/inputs": {"POST": WRITES},
    "batch/v1/inputs/<str:id>": {"GET": READS},
    "batch/v1/jobs": {"GET": READS, "POST": WRITES},
    "batch/v1/jobs/<str:id>": {"GET": READS},
    "batch/v1/jobs/<str:id>/approve": {"POST": WRITES},
    "batch/v1/jobs/<str:id>/cancel": {"POST": WRITES},
    "batch/v1/jobs/<str:id>/pause": {"POST": WRITES},
    "batch/v1/jobs/<str:id>/resume": {"POST": WRITES},
    "batch/v1/jobs/<str:id>/retry": {"POST": WRITES},
    "batch/v1/jobs/<str:id>/result": {"GET": READS},
    "batch/v1/jobs/<str:id>/rows": {"GET": READS},
    "batch/v1/jobs/<str:id>/data": {"DELETE": WRITES},
    "v1/files": {"GET": READS},
    "v1/files/<str:id>": {"GET": READS, "DELETE": WRITES},
    "v1/batches": {"GET": READS, "POST": WRITES},
    "v1/batches/<str:id>": {"GET": READS},
    "v1/batches/<str:id>/cancel": {"POST": WRITES},
    "v1/uploads": {"POST": FILLS},
    "openai/v1/uploads": {"POST": FILLS},
    # A signature is the proof.
    "v1/uploads/<path:name>": {},
    "openai/v1/uploads/<path:name>": {},
    **{
        f"{before}v1/{name}": {"GET": set()}
        for before in ("", "openai/")
        for name in ("usage", "balance", "plans", "jobs/<str:turn_id>")
    },
}


@pytest.fixture
def place(settings, tmp_path):
    settings.ANEX_STORAGE_DIR = tmp_path / "objects"
    return scene.made()


def ours(is_wanted: Callable[[str], bool]) -> dict[str, Route]:
    """Routes of the console or of the APIs: not the docs', nor those of staff and of signing in."""
    return {
        route.route: route
        for route in django_routes()
        if is_wanted(route.path)
        and not route.route.startswith(("accounts/", "admin/"))
        and not route.view.__module__.startswith("anex.docs.")
    }


CONSOLE_ROUTES = ours(lambda path: not path.startswith(API_PATHS))
API_ROUTES = ours(lambda path: path.startswith(API_PATHS))


def asked(client: Client, method: str, path: str, **more: object) -> int:
    """The status; what the request changed is undone."""
    with transaction.atomic():
        answer = client.generic(method, path, **more)
        transaction.set_rollback(True)
    assert answer.status_code < 500, (method, path)
    return int(answer.status_code)


@pytest.mark.parametrize("suspended", [False, True])
def test_every_page_answers_each_role_as_the_table_says(place, suspended):
    acme = place.key.caller.organization_id
    people = {"owner": "ada", "admin": "hopper", "member": "joan"}
    add_member(Organization.objects.get(pk=acme), people["admin"], "admin")
    if suspended:
        organizations.suspend(organization_id=acme, actor=system("tests"), reason="unpaid")
    wrong = []
    for role in ROLES[: 1 if suspended else None]:
        browser = Client()
        browser.force_login(make_user(people[role]))
        for name, actions in CONSOLE.items():
            path = path_of(CONSOLE_ROUTES[name], place.value_of(CONSOLE_ROUTES[name]))
            for method, action in zip(("GET", "POST"), actions, strict=True):
                status = asked(browser, method, path)
                if not action:
                    fits = status in (403, 405)
                else:
                    fits = (status != 403) is may(role, Action(action), suspended=suspended) and status != 405
                if not fits:
                    wrong.append((role, method, name, action, status))
    assert not wrong


def test_every_call_answers_each_scope_as_the_table_says(place):
    organization = Organization.objects.get(pk=place.key.caller.organization_id)
    wrong = []
    for scope in sorted(EVERY_SCOPE):
        header = {"authorization": make_key(organization, scopes=frozenset({scope})).header}
        for name, methods in API.items():
            path = path_of(API_ROUTES[name], place.value_of(API_ROUTES[name]))
            for method, accepted in methods.items():
                status = asked(Client(headers=header), method, path, content_type="application/json")
                if (status != 403) is not (not accepted or scope in accepted):
                    wrong.append((scope, method, name, status))
    assert not wrong


def test_every_page_and_every_call_is_in_a_table():
    assert set(CONSOLE_ROUTES) == set(CONSOLE) | OF_NO_ROLE
    assert set(API_ROUTES) == set(API)
    for name, methods in API.items():
        view = getattr(API_ROUTES[name].view, "cls", None)
        handled = {method for method in ("GET", "POST", "PUT", "PATCH", "DELETE") if hasattr(view, method.lower())}
        assert set(methods) == (handled if methods else set()), name
