import pytest

from accounts.models import Membership
from accounts.permissions import ALLOWED, Action, may

WORK = ["view", "submit_job", "approve_job", "cancel_job", "download_result"]
KEYS = ["create_key", "revoke_key", "manage_billing"]

CELLS = [(role, action, True) for role in ("owner", "admin") for action in WORK + KEYS]
CELLS += [("member", action, True) for action in WORK]
CELLS += [("member", action, False) for action in KEYS]
CELLS += [("stranger", action, False) for action in WORK + KEYS]


@pytest.mark.parametrize(("role", "action", "allowed"), CELLS)
def test_role_may_do_exactly_what_the_table_says(role, action, allowed):
    assert may(role, Action(action)) is allowed


def test_every_role_and_every_action_is_in_the_table():
    assert set(ALLOWED) == set(Membership.Role.values)
    assert set().union(*ALLOWED.values()) == set(Action) == set(WORK + KEYS)
