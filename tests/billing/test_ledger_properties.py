"""Random lives of a ledger on the real database, step by step against a model, then many at once."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import uuid4, uuid5

import pytest
from django.db import connection
from django.db.models import F, Q, Sum
from django.db.models.functions import TruncDate
from hypothesis import seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from accounts.models import Organization
from anex.core import clock
from anex.core.actors import system
from anex.core.errors import Conflict, NotFound, PaymentRequired
from anex.core.money import cents_to_nano
from anex.core.usage import Usage
from billing.gateways.interface import Event
from billing.ledger import Filter
from billing.models import Account, Hold, Topup, Transfer, UsageDay, UsageRecord
from billing.selectors import balances, ledger
from billing.services import corrections, grants, holds, payment_events, refunds, usage
from tests.sizes import sized

ACTOR = system("tests")
PIECES = sized(3, 10)
STEPS = 1_000
cents = st.integers(1, 2_000)
# Few names, so that sources repeat.
names = st.sampled_from("abcdefgh")
EVENTS = (
    ("paid", ""),
    ("taken", "refund"),
    ("restored", "refund"),
    ("taken", "dispute"),
    ("restored", "dispute"),
)


def total(**lines):
    return Transfer.objects.filter(**lines).aggregate(sum=Sum("amount_nano", default=0))["sum"]


def check_against_lines(account):
    """The cached figures of an organization are what its lines and its open holds add up to."""
    assert account.balance_nano == total(credit=account) - total(debit=account)
    held = Hold.objects.filter(account=account, settled_at=None).aggregate(sum=Sum("amount_nano", default=0))["sum"]
    assert account.held_nano == held
    captured = Hold.objects.filter(account=account).aggregate(sum=Sum("captured_nano", default=0))["sum"]
    assert captured == total(debit=account, kind="charge")
    running = 0
    for line in Transfer.objects.filter(Q(debit=account) | Q(credit=account)).order_by("id"):
        running += line.amount_nano if line.credit_id == account.id else -line.amount_nano
        assert line.balance_after_nano == running


def check_ledger():
    """What holds of the whole ledger at any moment."""
    everyone = Account.objects.all()
    assert sum(total(credit=account) - total(debit=account) for account in everyone) == 0
    for account in everyone.exclude(organization=None):
        check_against_lines(account)
    assert not Hold.objects.filter(Q(captured_nano__gt=F("amount_nano")) | Q(captured_nano__lt=0)).exists()
    check_sums_of_usage()


def check_sums_of_usage():
    """The sums by day are what the records add up to, and nothing else."""
    groups = ("organization_id", "day", "surface", "model_id", "key_id")
    figures = ("requests", "input_tokens", "cached_tokens", "output_tokens", "amount_nano")
    records = UsageRecord.objects.annotate(day=TruncDate("at")).values(*groups)
    summed = records.annotate(**{f"sum_{name}": Sum(name) for name in figures})
    added_up = set(summed.values_list(*groups, *(f"sum_{name}" for name in figures)))
    assert added_up == set(UsageDay.objects.exclude(**dict.fromkeys(figures, 0)).values_list(*groups, *figures))


class LedgerMachine(RuleBasedStateMachine):
    """One organization; the model is a balance, the open holds, the first outcome of every source, the grants that
    end, and what each payment's events say."""

    steps = 0

    @initialize()
    def open_account(self):
        # Grants of the lives before this one, which an expiry would end too.
        grants.expire_due(clock.now() + timedelta(days=30))
        self.id = Organization.objects.create(name="Acme").id
        self.balance = 0
        self.moved = set()
        self.open = {}
        self.settled = {}
        self.ending = []
        self.payments = {}
        self.consumed = 0

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
        self.charge(captured)

    def charge(self, nano):
        """Take from the balance; what ends first is spent first."""
        self.balance -= nano
        for grant in sorted(self.ending, key=lambda grant: grant["ends"]):
            paid = min(grant["left"], nano)
            grant["left"] -= paid
            nano -= paid

    @rule(name=names, cents=cents, days=st.integers(1, 9))
    def grant_until(self, name, cents, days):
        source, ends = self.source(f"ending:{name}"), clock.now() + timedelta(days=days)
        added = grants.give(
            organization_id=self.id, cents=cents, reason="r", source=source, actor=ACTOR, expires_at=ends
        )
        assert added == (source not in self.moved)
        if added:
            self.moved.add(source)
            self.balance += cents_to_nano(cents)
            self.ending.append({"ends": ends, "left": cents_to_nano(cents), "over": False, "held": 0})

    @rule(days=st.integers(0, 10))
    def expire(self, days):
        now = clock.now() + timedelta(days=days)
        held = sum(self.open.values())
        due = [grant for grant in self.ending if not grant["over"] and grant["ends"] <= now]
        needed, shares = held, {}
        for grant in sorted(self.ending, key=lambda grant: grant["ends"]):
            shares[grant["ends"]] = min(grant["left"], needed)
            needed -= shares[grant["ends"]]
        assert grants.expire_due(now) == len(due)
        for grant in self.ending:
            share = shares[grant["ends"]]
            spare = grant["left"] - share
            if grant not in due:
                spare = min(spare, max(0, grant["held"] - share))
            taken = max(0, min(spare, self.balance - held))
            grant["left"] -= taken
            grant["held"] = share if grant in due else min(share, grant["held"])
            grant["over"] = grant["over"] or grant in due
            self.balance -= taken

    @rule(nano=st.integers(1, 10**9), share=st.floats(0, 2))
    def answer_a_request(self, nano, share):
        source = self.source(f"request:{uuid4()}")
        try:
            holds.place(organization_id=self.id, source=source, amount_nano=nano, actor=ACTOR)
        except PaymentRequired:
            assert nano > self.balance - sum(self.open.values())
            return
        outcome = holds.settle(source=source, charge_nano=int(nano * share), actor=ACTOR)
        usage.record(source=source, surface="chat", model_id="m", actor=ACTOR, requests=1, usage=Usage(input_tokens=1))
        self.charge(outcome.captured_nano)
        self.consumed += outcome.captured_nano

    @rule(name=st.sampled_from("ab"), event=st.sampled_from(EVENTS), about=st.integers(1, 3))
    def hear_of_a_payment(self, name, event, about):
        kind, cause = event
        payment = self.payments.setdefault(name, {"id": uuid4(), "paid": False, "taken": {}, "restored": set()})
        Topup.objects.get_or_create(
            pk=payment["id"], defaults={"organization_id": self.id, "gateway": "local", "cents": 900, "created_by": "t"}
        )
        before = self.paid(payment)
        if kind == "paid":
            payment["paid"] = True
            heard = Event(f"{payment['id']}:paid", "paid", f"lp_{payment['id']}", payment["id"], 900)
        else:
            thing = f"{payment['id']}:{cause}:{about}"
            heard = Event(f"{thing}:{kind}", kind, f"lp_{payment['id']}", cents=400 * about, cause=cause, about=thing)
            if kind == "taken":
                payment["taken"][thing] = 400 * about
            else:
                payment["restored"].add(thing)
        payment_events.apply("local", heard)
        assert not payment_events.apply("local", heard)
        self.balance += cents_to_nano(self.paid(payment) - before)

    def paid(self, payment):
        """What is left of a payment, in cents, whatever the order its events came in."""
        gone = sum(cents for thing, cents in payment["taken"].items() if thing not in payment["restored"])
        return 900 - gone if payment["paid"] else 0

    @rule(place=st.integers(0, 5), nano=st.integers(1, 100))
    def give_a_charge_back(self, place, nano):
        charges = list(Transfer.objects.filter(debit__organization_id=self.id, kind="charge").order_by("id"))
        if not charges:
            return
        charge = charges[place % len(charges)]
        left = charge.amount_nano - total(about=charge)
        order = {"organization_id": self.id, "charge_id": charge.pk, "cents": nano, "reason": "r", "actor": ACTOR}
        try:
            refunds.give_back(**order, source=self.source(f"refund:{uuid4()}"))
        except Conflict:
            assert cents_to_nano(nano) > left
        else:
            self.balance += cents_to_nano(nano)
            assert cents_to_nano(nano) <= left

    @invariant()
    def the_database_agrees(self):
        assert balances.get(self.id) == balances.Balance(self.balance, sum(self.open.values()), 0)
        LedgerMachine.steps += 1
        # What every line says is read less often: it costs as much as all the rest.
        if LedgerMachine.steps % 25 == 0:
            self.every_line_agrees()

    def every_line_agrees(self):
        balance = balances.get(self.id)
        lines = balances.statement(self.id, limit=1_000)
        assert sum(line.amount_nano for line in lines) == balance.balance_nano
        assert ledger.totals(self.id, Filter()).held_nano == balance.held_nano
        assert (
            UsageRecord.objects.filter(organization_id=self.id).aggregate(sum=Sum("amount_nano", default=0))["sum"]
            == self.consumed
        )
        if account := Account.objects.filter(organization_id=self.id).first():
            check_against_lines(account)

    def teardown(self):
        self.every_line_agrees()


# Apart: within one test nothing is ever thrown away, and every step would wait for all before it.
@pytest.mark.parametrize("number", range(PIECES))
def test_any_sequence_of_verbs_keeps_the_ledger(db, number):
    before, machine = LedgerMachine.steps, seed(number)(type("Machine", (LedgerMachine,), {}))
    run_state_machine_as_test(machine, settings=settings(max_examples=27, stateful_step_count=50))
    assert LedgerMachine.steps - before >= STEPS
    check_ledger()


def hear(organization_id, dice):
    """One of the events of one of twenty payments; only those of the first organization are taken back."""
    number = dice.randrange(20)
    payment = uuid5(organization_id, str(number))
    Topup.objects.get_or_create(
        pk=payment, defaults={"organization_id": organization_id, "gateway": "local", "cents": 900, "created_by": "t"}
    )
    kind, cause = dice.choice(EVENTS)
    if kind == "paid" or "1" in Organization.objects.get(pk=organization_id).name:
        event = Event(f"{payment}:paid", "paid", f"lp_{payment}", payment, 900)
    else:
        thing = f"{payment}:{cause}"
        event = Event(f"{thing}:{kind}", kind, f"lp_{payment}", cents=900, cause=cause, about=thing)
    payment_events.apply("local", event)


def grant_some(organization_id, dice, source, nano):
    end = clock.now() + timedelta(hours=1) if dice.randrange(2) else None
    order = {"organization_id": organization_id, "cents": dice.randrange(1, 300), "reason": "r", "actor": ACTOR}
    grants.give(**order, source=f"grant:{bool(end)}:{source}", expires_at=end)


def place_some(organization_id, dice, source, nano):
    holds.place(organization_id=organization_id, source=source, amount_nano=nano, actor=ACTOR)


def settle_some(organization_id, dice, source, nano):
    holds.settle(source=source, charge_nano=nano, actor=ACTOR)


def answer_some(organization_id, dice, source, nano):
    request = f"{organization_id}:{uuid4()}"
    holds.place(organization_id=organization_id, source=request, amount_nano=nano // 100 + 1, actor=ACTOR)
    holds.settle(source=request, charge_nano=nano // dice.randrange(50, 200), actor=ACTOR)


def expire_some(organization_id, dice, source, nano):
    grants.expire_due(clock.now() + timedelta(minutes=dice.choice([0, 61])))


def hear_some(organization_id, dice, source, nano):
    hear(organization_id, dice)


ACTS = (grant_some, place_some, place_some, settle_some, answer_some, answer_some, expire_some, hear_some, hear_some)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("start", range(sized(1, 3)))
def test_many_at_once_keep_the_ledger_and_never_overdraw(start):
    organizations = [Organization.objects.create(name=f"Organization {i}").id for i in range(2)]

    def live(worker):
        dice = random.Random(f"{start}:{worker}")
        refused = 0
        try:
            for _ in range(420):
                organization_id = dice.choice(organizations)
                source, nano = f"{organization_id}:{dice.randrange(40)}", dice.randrange(1, 10**10)
                try:
                    dice.choice(ACTS)(organization_id, dice, source, nano)
                except (PaymentRequired, NotFound):
                    refused += 1
                # Of the second only charges and expiries take something, and both leave what is held covered.
                if organization_id == organizations[1]:
                    assert balances.get(organization_id).available_nano >= 0
        finally:
            connection.close()
        return refused

    with ThreadPoolExecutor(8) as pool:
        refusals = list(pool.map(live, range(8)))
    assert sum(refusals) < 8 * 420
    assert Hold.objects.exclude(settled_at=None).exists()
    check_ledger()
    # Whatever was spent so far, of this one something is left to expire.
    end = clock.now() + timedelta(hours=1)
    order = {"cents": 50_000, "reason": "r", "source": "last", "actor": ACTOR, "expires_at": end}
    grants.give(organization_id=organizations[1], **order)
    grants.expire_due(end)
    check_ledger()
    for kind in ("grant", "charge", "expiry", "payment", "dispute", "payment_refund"):
        assert Transfer.objects.filter(kind=kind).exists(), kind
