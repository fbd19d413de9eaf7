"""The small cast of the tests: Ada owns Acme, Grace owns Globex. Everything else is made by real services."""

import uuid
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.http import HttpRequest
from django.test import Client

from accounts import second_factor
from accounts.callers import Caller
from accounts.key_options import KeyOptions
from accounts.models import Membership, Organization, User
from accounts.services import keys, organizations
from anex.core.actors import Actor, system
from jobs.models import Input, Job
from jobs.storage import keys as keys_of_store

PASSWORD = "correct horse battery staple"


@dataclass(frozen=True)
class KeyInHand:
    """A key as its holder has it: the whole secret, and the caller it authenticates as."""

    caller: Caller
    secret: str

    @property
    def header(self) -> str:
        return f"Bearer {self.secret}"


def make_user(name: str = "ada", **fields: Any) -> User:
    """A person `<name>@example.com`; the same name twice is the same person."""
    email = f"{name}@example.com"
    return User.objects.filter(email=email).first() or User.objects.create_user(email, PASSWORD, **fields)


def staff_browser(name: str = "root", **fields: Any) -> Client:
    """A browser in which a superuser (or what `fields` say) is signed in and has passed a second factor."""
    client = Client()
    user = make_user(name, is_staff=True, **({"is_superuser": True} | fields))
    client.force_login(user)
    pass_second_factor(client, user)
    return client


def pass_second_factor(client: Client, user: User) -> None:
    """Give a person an authenticator app and their session the mark of having used it."""
    if not second_factor.is_set_up(user):
        TOTP.activate(user, generate_totp_secret())
    request = HttpRequest()
    request.session = client.session
    record_authentication(request, user, "mfa")
    request.session.save()


def actor_of(user: User) -> Actor:
    return Actor("user", str(user.pk))


def make_organization(name: str = "Acme", *, owner: User | None = None) -> Organization:
    """Acme is Ada's, Globex is Grace's, another is Ada's unless `owner` is given."""
    owner = owner or make_user("grace" if name == "Globex" else "ada")
    return organizations.create(name=name, owner_id=owner.pk, actor=actor_of(owner))


def add_member(organization: Organization, name: str, role: str = "member") -> User:
    """A person with a role in the organization."""
    user = make_user(name)
    Membership.objects.create(organization=organization, user=user, role=role)
    return user


def make_key(organization: Organization | None = None, *, name: str = "test key", **limits: Any) -> KeyInHand:
    """A working key of the organization (Acme by default), with the limits of `KeyOptions`."""
    organization = organization or make_organization()
    owner = organization.memberships.get(role=Membership.Role.OWNER).user
    options = KeyOptions(**limits)
    made = keys.create(organization_id=organization.pk, name=name, options=options, actor=actor_of(owner))
    return KeyInHand(Caller(made.id, organization.pk, options.scopes, options.models), made.secret)


def grant_credits(organization: Organization, cents: int = 10_000) -> None:
    """Put credits on the balance, 100 dollars by default."""
    import_module("billing.services.grants").give(
        organization_id=organization.pk,
        cents=cents,
        reason="test",
        source=f"test:{uuid.uuid4()}",
        actor=system("tests"),
    )


def make_input(organization: Organization, **fields: Any) -> Input:
    """A ready input; its object does not exist in the store."""
    input_id = fields.get("id") or uuid.uuid4()
    defaults = {
        "id": input_id,
        "status": Input.State.READY,
        "key": keys_of_store.upload(organization.pk, input_id),
        "etag": "0" * 32,
        "size_bytes": 1_000,
        "created_by": str(system("tests")),
    }
    return Input.objects.create(organization=organization, **(defaults | fields))


def make_job(organization: Organization, **fields: Any) -> Job:
    """A job row in any status; nothing runs it."""
    defaults = {
        "input": fields.get("input") or make_input(organization),
        "model_id": "smollm2-135m",
        "created_by": str(system("tests")),
    }
    return Job.objects.create(organization=organization, **(defaults | fields))
