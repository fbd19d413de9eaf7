"""Random lives of realtime holds on the real database, step by step against a model."""

import json
from uuid import uuid4

import pytest
from django.db import connection
from hypothesis import Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from accounts.key_options import KeyOptions
from accounts.models import ApiKey, Organization
from accounts.services import keys
from anex.core import clock
from anex.core.actors import system
from anex.core.money import cents_to_nano
from billing.models import Account, Hold, Holder, KeySpend, Transfer, UsageRecord
from billing.requests import ADMIT, CONFIRM, RENEW, SETTLE, Asked, Ended, as_json
from billing.services import grants
from tests.billing.test_ledger_properties import check_ledger
from tests.sizes import sized

ACTOR = system("tests")
LIMIT = 3
names = st.sampled_from("abcdefgh")
amounts = st.integers(1, 3 * 10**8)
two = st.integers(0, 1)


def ask(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()


class RequestMachine(RuleBasedStateMachine):
    """One organization with a key under a ceiling, and two processes; the model is dictionaries."""

    steps = 0

    @initialize(cents=st.integers(1, 300), ceiling=st.integers(10, 200))
    def begin(self, cents, ceiling):
        self.organization = Organization.objects.create(name="Acme")
        made = keys.create(
            organization_id=self.organization.pk,
            name="k",
            actor=ACTOR,
            options=KeyOptions(daily_ceiling_cents=ceiling),
        )
        self.key, self.digest = made.id, bytes(ApiKey.objects.get(pk=made.id).secret_sha256)
        self.ceiling, self.balance, self.spent = cents_to_nano(ceiling), 0, 0
        self.open, self.ended, self.lost, self.owner = {}, {}, {}, {}
        self.holders = [ask(RENEW, None, 30)[0][0] for _ in range(2)]
        self.grant(cents)

    @rule(cents=st.integers(1, 50))
    def grant(self, cents):
        grants.give(organization_id=self.organization.pk, cents=cents, reason="r", source=str(uuid4()), actor=ACTOR)
        self.balance += cents_to_nano(cents)

    @rule(asked=st.lists(st.tuples(names, amounts), min_size=1, max_size=4, unique_by=lambda one: one[0]), process=two)
    def admit(self, asked, process):
        fresh = [(self.source(name), amount) for name, amount in asked]
        fresh = [(source, amount) for source, amount in fresh if source not in self.open | self.ended | self.lost]
        group = [Asked(source, "chat", "text:write", "chat", "m", amount) for source, amount in fresh]
        if not group:
            return
        values = [self.key, self.digest, clock.now(), self.holders[process], LIMIT, 3600, as_json(group)]
        ((refused, _, crowded, verdicts),) = ask(ADMIT, *values)
        assert refused is None
        for (source, amount), verdict in zip(fresh, verdicts, strict=True):
            why = verdict and json.loads(verdict)["why"]
            assert why == self.reason(amount)
            if why is None:
                self.open[source], self.owner[source] = amount, process
        assert crowded == (len(self.open) * 2 > LIMIT)

    def reason(self, amount):
        """Why the model would refuse the next request."""
        held = sum(self.open.values())
        if self.balance - held < amount:
            return "balance"
        if self.spent + held + amount > self.ceiling:
            return "ceiling"
        return "in_flight" if len(self.open) >= LIMIT else None

    @rule(named=st.lists(st.tuples(names, st.integers(-5, 4 * 10**8)), min_size=1, max_size=5), known=st.booleans())
    def settle(self, named, known):
        wanted = {self.source(name): charge for name, charge in named}
        if known:
            wanted = {source: charge for source, charge in wanted.items() if source in self.owner}
        group = [
            Ended(
                source=source,
                organization=str(self.organization.pk),
                key=self.key,
                surface="chat",
                model="m",
                amount=10**8,
                charge=charge,
                status="answered",
            )
            for source, charge in wanted.items()
        ]
        if not group:
            return
        told = {source: (outcome, charged) for source, outcome, charged in ask(SETTLE, as_json(group + group[:1]))}
        expected = {}
        for source, charge in sorted(wanted.items()):
            if source in self.open:
                expected[source] = ("settled", min(max(charge, 0), self.open.pop(source)))
                self.pay(source, expected[source][1])
        for source, charge in sorted(wanted.items()):
            if source in self.ended:
                continue
            if source in self.lost or charge > 0:
                held = self.lost.pop(source, 10**8)
                available = self.balance - sum(self.open.values())
                expected[source] = ("late", max(0, min(charge, held, available)))
                self.pay(source, expected[source][1])
            else:
                expected[source] = ("nothing", 0)
        assert told == expected
        assert {source for (source,) in ask(CONFIRM, list(wanted))} == wanted.keys() & self.ended.keys()

    def pay(self, source, charged):
        self.ended[source] = charged
        self.balance -= charged
        self.spent += charged

    @rule(process=two)
    def kill(self, process):
        Holder.objects.filter(pk=self.holders[process]).update(expires_at=clock.now())
        ((others,),) = ask("SELECT count(*) FROM billing_realtime_reap_v1(0)")
        dead = {source for source in self.open if self.owner[source] == process}
        assert others >= len(dead)
        for source in dead:
            self.lost[source] = self.open.pop(source)
        assert ask(RENEW, self.holders[process], 30)[0][0] != self.holders[process]
        self.holders[process] = ask(RENEW, None, 30)[0][0]

    def source(self, name):
        return f"{self.organization.pk}:{name}"

    @invariant()
    def books_agree(self):
        type(self).steps += 1
        account = Account.objects.filter(organization=self.organization).first()
        if account is None:
            return
        held = sum(self.open.values())
        assert (account.balance_nano, account.held_nano, account.in_flight) == (self.balance, held, len(self.open))
        assert self.balance - held >= 0
        spend = KeySpend.objects.filter(pk=self.key).first()
        assert spend is None or spend.day_nano == self.spent + held
        records = dict(UsageRecord.objects.filter(organization=self.organization).values_list("source", "amount_nano"))
        assert records == self.ended | dict.fromkeys(self.lost, 0)
        lost = UsageRecord.objects.filter(organization=self.organization, status="lost")
        assert set(lost.values_list("source", flat=True)) == set(self.lost)


@pytest.mark.django_db(transaction=True)
def test_any_sequence_of_admissions_settlements_and_kills_keeps_the_books():
    RequestMachine.steps = 0
    run_state_machine_as_test(
        seed(20261130)(RequestMachine),
        settings=settings(max_examples=sized(30, 60), stateful_step_count=20, phases=[Phase.generate], database=None),
    )
    assert RequestMachine.steps > 200
    assert Hold.objects.exists() and Transfer.objects.exists()
    check_ledger()
