"""`manage.py demo_account` completes whatever is missing and repeats nothing."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import ApiKey, Membership, User
from accounts.services import keys
from anex.core.actors import system
from anex.core.money import cents_to_nano
from billing.selectors import balances

pytestmark = pytest.mark.django_db


def account(file: Path) -> dict[str, str]:
    output = StringIO()
    call_command("demo_account", file=file, stdout=output)
    assert json.loads(output.getvalue()) == json.loads(file.read_text())
    return json.loads(file.read_text())


def test_a_new_account_can_sign_in_call_the_api_and_pay(tmp_path: Path) -> None:
    made = account(tmp_path / "demo.json")
    caller = keys.authenticate(f"Bearer {made['key']}")
    assert User.objects.get(email="demo@example.com").check_password(made["password"])
    assert Membership.objects.get(user__email="demo@example.com").role == "owner"
    assert balances.get(caller.organization_id).available_nano == cents_to_nano(2_000)
    assert (tmp_path / "demo.json").stat().st_mode & 0o777 == 0o600


def test_the_person_of_the_demo_signs_in_without_any_mail(
    tmp_path: Path, client: Client, mailoutbox: list[Any]
) -> None:
    made = account(tmp_path / "demo.json")
    answer = client.post("/accounts/login/", {"login": made["email"], "password": made["password"]})
    assert (answer.status_code, answer["Location"]) == (302, "/dashboard")
    assert client.get("/dashboard").status_code == 200
    assert mailoutbox == []


def test_the_person_made_the_key_and_is_staff_too(tmp_path: Path) -> None:
    made = account(tmp_path / "demo.json")
    person = User.objects.get(email="demo@example.com")
    assert person.is_staff
    assert person.is_superuser
    assert ApiKey.objects.get(organization_id=made["organization_id"]).created_by == person


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    made = account(tmp_path / "demo.json")
    assert account(tmp_path / "demo.json") == made
    caller = keys.authenticate(f"Bearer {made['key']}")
    assert balances.get(caller.organization_id).available_nano == cents_to_nano(2_000)


def test_a_revoked_key_is_replaced(tmp_path: Path) -> None:
    made = account(tmp_path / "demo.json")
    caller = keys.authenticate(f"Bearer {made['key']}")
    keys.revoke(organization_id=caller.organization_id, key_id=caller.key_id, actor=system("test"))
    again = account(tmp_path / "demo.json")
    assert again["key"] != made["key"]
    assert keys.authenticate(f"Bearer {again['key']}").organization_id == caller.organization_id


@pytest.mark.parametrize("left", [None, "", "[]", '{"password": "half'])
def test_a_lost_or_broken_file_gets_a_new_password_for_the_same_person(tmp_path: Path, left: str | None) -> None:
    file = tmp_path / "demo.json"
    made = account(file)
    file.unlink() if left is None else file.write_text(left)
    again = account(file)
    assert again["organization_id"] == made["organization_id"]
    assert again["password"] != made["password"]
    assert User.objects.get(email="demo@example.com").check_password(again["password"])
