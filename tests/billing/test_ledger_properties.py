"""Random lives of a ledger on the real database, step by step against a model, then many at once."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.db.models import F, Q, Sum
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from accounts.models import Organization
from anex.core.actors import system
from anex.core.errors import NotFound, PaymentRequired
from anex.core.money import cents_to_nano
from billing.models import Account, Hold, Transfer
from billing.selectors import balances
from billing.services import corrections, grants, holds

ACTOR = system("tests")
cents = st.integers(1, 2_000)
# Few names, so that sources repeat.
names = st.sampled_from("abcdefgh")


def total(**lines):
    return Transfer.objects.filter(**lines).aggregate(sum=Sum("amount_nano", default=0))["sum"]


def check_against_lines(account):
    """The cached figures of an organization are what its lines and its open holds add up to."""
    assert account.balance_nano == total(credit=account) - total(debit=account)
    held = Hold.objects.filter(account=account, settled_at=None).aggregate(sum=Sum("amount_nano", default=0))["sum"]
    assert account.held_nano == held
    captured = Hold.objects.filter(account=account).aggregate(sum=Sum("captured_nano", default=0))["sum"]
    assert captured == total(debit=account, kind="charge")


def check_ledger():
    """What holds of the whole ledger at any moment."""
    everyone = Account.objects.all()
    assert sum(total(credit=account) - total(debit=account) for account in everyone) == 0
    for account in everyone.exclude(organization=None):
        check_against_lines(account)
    assert not Hold.objects.filter(Q(captured_nano__gt=F("amount_nano")) | Q(captured_nano__lt=0)).exists()


class LedgerMachine(RuleBasedStateMachine):
    """One organization; the model is a balance, the open holds, and the first outcome of every source."""

    @initialize()
    def open_account(self):
        self.id = Organization.objects.create(name="Acme").id
        self.balance = 0
        self.moved = set()
        self.open = {}
        self.settled = {}

    def source(self, name):
        return f"{self.id}:{name}"

    @rule(name=names, cents=cents)
    def grant(self, name, cents):
        source = self.source(f"grant:{name}")
        added = grants.give(organization_id=self.id, cents=cents, reason="r", source=source, actor=ACTOR)
        assert added == (source not in self.moved)
        self.moved.add(source)
        self.balance += cents_to_nano(cents) * added

    @rule(name=names, cents=cents, sign=st.sampled_from([1, -1]))
    def correct(self, name, cents, sign):
        source = self.source(f"correction:{name}")
        moved = corrections.adjust(organization_id=self.id, cents=sign * cents, reason="r", source=source, actor=ACTOR)
        assert moved == (source not in self.moved)
        self.moved.add(source)
        self.balance += sign * cents_to_nano(cents) * moved

    @rule(name=names, nano=st.integers(1, 2 * 10**10))
    def place(self, name, nano):
        source = self.source(f"job:{name}")
        available = self.balance - sum(self.open.values())
        try:
            placed = holds.place(organization_id=self.id, source=source, amount_nano=nano, actor=ACTOR)
        except PaymentRequired:
            assert source not in self.open | self.settled
            assert nano > available
            return
        assert placed == (source not in self.open | self.settled)
        if placed:
            assert nano <= available
            self.open[source] = nano

    @rule(name=names, charge=st.integers(-(10**9), 3 * 10**10))
    def settle(self, name, charge):
        source = self.source(f"job:{name}")
        try:
            outcome = holds.settle(source=source, charge_nano=charge, actor=ACTOR)
        except NotFound:
            assert source not in self.open | self.settled
            return
        if source in self.settled:
            assert outcome == self.settled[source]
            return
        held = self.open.pop(source)
        captured = min(max(charge, 0), held)
        assert outcome == holds.Settlement(captured_nano=captured, released_nano=held - captured)
        self.settled[source] = outcome
        self.balance -= captured

    @invariant()
    def the_database_agrees(self):
        balance = balances.get(self.id)
        assert balance == balances.Balance(self.balance, sum(self.open.values()), 0)
        lines = balances.statement(self.id, limit=1_000)
        assert sum(line.amount_nano for line in lines) == balance.balance_nano
        if account := Account.objects.filter(organization_id=self.id).first():
            check_against_lines(account)

    def teardown(self):
        check_ledger()


def test_any_sequence_of_verbs_keeps_the_ledger(db):
    run_state_machine_as_test(LedgerMachine, settings=settings(max_examples=40, stateful_step_count=40))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(3))
def test_many_at_once_keep_the_ledger_and_never_overdraw(seed):
    organizations = [Organization.objects.create(name=f"Organization {i}").id for i in range(2)]

    def live(worker):
        dice = random.Random(f"{seed}:{worker}")
        refused = 0
        try:
            for _ in range(420):
                organization_id = dice.choice(organizations)
                source = f"{organization_id}:{dice.randrange(40)}"
                nano = dice.randrange(1, 10**10)
                try:
                    match dice.randrange(4):
                        case 0:
                            grants.give(
                                organization_id=organization_id,
                                cents=dice.randrange(1, 300),
                                reason="r",
                                source=f"grant:{source}",
                                actor=ACTOR,
                            )
                        case 1 | 2:
                            holds.place(organization_id=organization_id, source=source, amount_nano=nano, actor=ACTOR)
                        case 3:
                            holds.settle(source=source, charge_nano=nano, actor=ACTOR)
                except (PaymentRequired, NotFound):
                    refused += 1
                # Nothing here takes a balance away but charges, which are covered by their holds.
                assert balances.get(organization_id).available_nano >= 0
        finally:
            connection.close()
        return refused

    with ThreadPoolExecutor(8) as pool:
        refusals = list(pool.map(live, range(8)))
    assert sum(refusals) < 8 * 420
    assert Hold.objects.exclude(settled_at=None).exists()
    check_ledger()
