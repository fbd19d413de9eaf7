"""`manage.py demo_account`: an organization, its owner who is staff too, a key, credits; safe to repeat."""

import json
import secrets
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from accounts.models import User
from accounts.selectors import memberships
from accounts.services import keys, organizations, people
from anex.core.actors import Actor, system
from anex.core.errors import AnexError
from anex.core.money import cents_to_nano
from billing.selectors import balances
from billing.services import grants

_EMAIL = "demo@example.com"
_GRANT_CENTS = 2_000
_LOW_CENTS = 500
_ACTOR: Actor = system("demo")


class Command(BaseCommand):
    """Prints the account as JSON and keeps it in a file only its owner can read."""

    help = "Create the demo organization, its user, key and credits, or show those there are."

    def add_arguments(self, parser: CommandParser) -> None:
        """`--file`: where password and key are kept between runs."""
        parser.add_argument("--file", type=Path, default=settings.VAR_DIR / "demo.json")

    def handle(self, *, file: Path, **_options: Any) -> None:
        """Complete whatever is missing."""
        kept = _read(file)
        password = kept.get("password") or secrets.token_urlsafe(12)
        user = _user(password)
        organization_id = _organization(user)
        key = kept.get("key", "")
        if not _works(key, organization_id):
            key = keys.create(organization_id=organization_id, name="Demo", actor=Actor("user", str(user.pk))).secret
        _fill_up(organization_id)
        account = {"email": _EMAIL, "password": password, "key": key, "organization_id": str(organization_id)}
        _write(file, account)
        self.stdout.write(json.dumps(account))


def _read(file: Path) -> dict[str, str]:
    try:
        kept = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _write(file: Path, account: dict[str, str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text(json.dumps(account, indent=2) + "\n")


def _user(password: str) -> User:
    user = User.objects.filter(email=_EMAIL).first() or User(email=_EMAIL)
    if not (user.is_superuser and user.check_password(password)):
        user.is_staff = user.is_superuser = True
        user.set_password(password)
        user.save()
    people.verify_address(user_id=user.pk)
    return user


def _organization(user: User) -> UUID:
    mine = memberships.of_person(user.pk)
    if mine:
        return mine[0].organization_id
    return organizations.create(name="Demo", owner_id=user.pk, actor=_ACTOR).pk


def _works(key: str, organization_id: UUID) -> bool:
    try:
        return keys.authenticate(f"Bearer {key}").organization_id == organization_id
    except AnexError:
        return False


def _fill_up(organization_id: UUID) -> None:
    """A new grant whenever the balance runs low, so that the demo can be run any number of times."""
    if balances.get(organization_id).available_nano < cents_to_nano(_LOW_CENTS):
        grants.give(
            organization_id=organization_id,
            cents=_GRANT_CENTS,
            reason="Credits of the demo",
            source=f"demo:{uuid4()}",
            actor=_ACTOR,
        )
