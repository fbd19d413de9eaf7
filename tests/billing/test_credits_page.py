"""The credits page: figures, the ledger page by page, its CSV, statements, and who may see them."""

import csv
import io
from decimal import Decimal

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext

from accounts.models import ApiKey
from accounts.services import keys
from anex.core import clock
from anex.core.actors import system
from anex.core.money import NANO_PER_DOLLAR, cents_to_nano
from billing import csv_export
from billing.models import Hold
from billing.requests import ADMIT, RENEW, SETTLE, Asked, Ended, as_json
from billing.selectors import balances, ledger, statements
from billing.services import corrections, credit_limits, grants, holds
from billing.views import credits as page
from tests.factories import add_member, grant_credits, make_organization, make_user

ACTOR = system("tests")
JOB = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def acme(db):
    return make_organization("Acme")


@pytest.fixture
def ada(acme):
    client = Client()
    client.force_login(make_user("ada"))
    return client


def live(organization, job=JOB):
    """A grant of $10, a hold of $4, a charge of $1.50 and the release of the rest."""
    grants.give(organization_id=organization.pk, cents=1_000, reason="=1+1", source=f"g:{organization.pk}", actor=ACTOR)
    holds.place(organization_id=organization.pk, source=f"job:{job}", amount_nano=cents_to_nano(400), actor=ACTOR)
    holds.settle(source=f"job:{job}", charge_nano=cents_to_nano(150), actor=ACTOR)


def rewrite(change):
    """Put every ledger line elsewhere in time, past the guard that refuses it."""
    connection.check_constraints()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE billing_transfer DISABLE TRIGGER billing_transfer_refuse_change")
        cursor.execute(f"UPDATE billing_transfer SET {change}")


def download(user, path):
    """The rows of a CSV download, as dictionaries."""
    client = AsyncClient()
    client.force_login(user)

    async def read():
        answer = await client.get(path)
        assert answer.status_code == 200
        assert answer["Content-Type"] == "text/csv; charset=utf-8"
        return b"".join([piece async for piece in answer])

    return list(csv.DictReader(io.StringIO(async_to_sync(read)().decode())))


def test_page_shows_holds_charges_and_releases_with_the_running_balance(ada, acme):
    live(acme)
    entries = ada.get("/credits").context["page"].entries
    cents = [
        (
            entry.label,
            entry.amount_nano // 10**7,
            entry.held_nano // 10**7,
            entry.balance_nano and entry.balance_nano // 10**7,
        )
        for entry in entries
    ]
    assert cents == [
        ("Released", 0, -250, None),
        ("Charge", -150, -150, 850),
        ("Held", 0, 400, None),
        ("Grant", 1_000, 0, 1_000),
    ]
    html = ada.get("/credits").content.decode()
    for shown in ("$8.50", "-$1.50", "+$10.00", f'href="/jobs/{JOB}"', "$0.00"):
        assert shown in html


def ask(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()


def request(organization, name, *, charge=None):
    """A realtime request that was admitted and, with a charge, settled."""
    made = keys.create(organization_id=organization.pk, name=name, actor=ACTOR)
    digest = bytes(ApiKey.objects.get(pk=made.id).secret_sha256)
    asked = Asked(f"req:{name}", "chat", "text:write", "chat", "scripted", 1_000)
    ask(ADMIT, made.id, digest, clock.now(), ask(RENEW, None, 30)[0], 8, 3600, as_json([asked]))
    if charge is not None:
        facts = {"organization": str(organization.pk), "key": made.id, "surface": "chat", "model": "scripted"}
        status = "answered" if charge else "refused"
        ask(SETTLE, as_json([Ended(source=f"req:{name}", amount=1_000, charge=charge, status=status, **facts)]))


def test_a_request_is_one_line_that_names_its_model_and_is_held_only_while_it_runs(ada, acme):
    grants.give(organization_id=acme.pk, cents=1, reason="r", source="g", actor=ACTOR)
    for name, charge in [("answered", 300), ("refused", 0), ("open", None)]:
        request(acme, name, charge=charge)
    shown = ada.get("/credits").context
    lines = [(entry.kind, entry.reason, entry.amount_nano, entry.held_nano) for entry in shown["page"].entries]
    assert lines == [
        ("hold", "", 0, 1_000),
        ("charge", "chat on scripted", -300, 0),
        ("grant", "r", cents_to_nano(1), 0),
    ]
    assert shown["totals"].entries == 3
    assert shown["totals"].held_nano == balances.get(acme.pk).held_nano == 1_000


def test_page_of_an_organization_without_money_says_so(ada):
    assert "No transactions yet" in ada.get("/credits").content.decode()


def test_pages_follow_each_other_without_a_gap_or_a_repetition(acme):
    for i in range(7):
        grants.give(organization_id=acme.pk, cents=10, reason="r", source=f"g:{i}", actor=ACTOR)
        holds.place(organization_id=acme.pk, source=f"j:{i}", amount_nano=cents_to_nano(5), actor=ACTOR)
        holds.settle(source=f"j:{i}", charge_nano=cents_to_nano(2), actor=ACTOR)
    whole = ledger.page(acme.pk, ledger.Filter(), size=100).entries
    assert len(whole) == 28
    walked = [entry for chunk in ledger.everything(acme.pk, ledger.Filter(), chunk=3) for entry in chunk]
    assert walked == whole
    assert sum(entry.amount_nano for entry in whole) == balances.get(acme.pk).balance_nano
    assert sum(entry.held_nano for entry in whole) == balances.get(acme.pk).held_nano == 0


def test_entries_of_one_instant_keep_the_order_they_were_written_in(acme):
    live(acme)
    rewrite("at = '2026-01-01T00:00Z'")
    Hold.objects.update(placed_at="2026-01-01T00:00Z", settled_at="2026-01-01T00:00Z")
    walked = [entry.rank for chunk in ledger.everything(acme.pk, ledger.Filter(), chunk=1) for entry in chunk]
    assert walked == [2, 1, 1, 0]


def test_link_to_older_lines_leads_to_them(ada, acme, monkeypatch):
    monkeypatch.setattr(page, "PAGE", 2)
    live(acme)
    first = ada.get("/credits?kind=")
    older = first.context["page"].older
    second = ada.get("/credits", {"kind": "", "before": str(older)})
    assert [entry.kind for entry in second.context["page"].entries] == ["hold", "grant"]
    assert second.context["page"].older is None
    assert 'rel="next"' in first.content.decode()
    assert "Newest" in second.content.decode()


@pytest.mark.parametrize("before", ["x", "1~2~3", "2026-01-01~1~1", "2026-01-01T00:00:00+00:00~9~1", "a~b~c~d"])
def test_a_place_that_is_none_shows_the_newest_lines(ada, acme, before):
    live(acme)
    assert len(ada.get("/credits", {"before": before}).context["page"].entries) == 4


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ({"kind": "charge"}, ["charge"]),
        ({"kind": "hold"}, ["hold"]),
        ({"kind": "banana"}, ["release", "charge", "hold", "grant"]),
        ({"start": "2020-01-01", "end": "2020-12-31"}, []),
        ({"start": "2020-01-01"}, ["release", "charge", "hold", "grant"]),
        ({"end": "9999-12-31"}, ["release", "charge", "hold", "grant"]),
        ({"start": "yesterday"}, ["release", "charge", "hold", "grant"]),
    ],
)
def test_filter_narrows_lines_and_totals_alike(ada, acme, query, kinds):
    live(acme)
    context = ada.get("/credits", query).context
    assert [entry.kind for entry in context["page"].entries] == kinds
    assert context["totals"].entries == len(kinds)
    assert context["totals"].net_nano == sum(entry.amount_nano for entry in context["page"].entries)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (JOB, ["release", "charge", "hold"]),
        (f"job:{JOB}:capture", ["charge"]),
        ("answered", ["charge"]),
        ("COUNTED twice", ["correction"]),
        ("x:2026", ["grant"]),
        ("a%", []),
    ],
)
def test_search_finds_lines_by_id_and_by_words(ada, acme, text, kinds):
    live(acme)
    request(acme, "answered", charge=300)
    corrections.adjust(organization_id=acme.pk, cents=-9, reason="Counted twice", source="c", actor=ACTOR)
    grants.give(organization_id=acme.pk, cents=1, reason="for x:2026", source="x:2026", actor=ACTOR)
    live(make_organization("Globex"), job="99999999-2222-4333-8444-555555555555")
    context = ada.get("/credits", {"q": f" {text} "}).context
    assert [entry.kind for entry in context["page"].entries] == kinds
    assert context["totals"].entries == len(kinds)
    assert len(download(make_user("ada"), f"/credits/ledger.csv?q={text}".replace("%", "%25"))) == len(kinds)


def test_lines_of_many_pages_are_added_up_when_asked(ada, acme, monkeypatch):
    monkeypatch.setattr(page, "PAGE", 2)
    live(acme)
    assert ada.get("/credits").context["totals"] is None
    assert ada.get("/credits?sum=1").context["totals"].entries == 4


@pytest.mark.parametrize("query", ["", "?kind=charge", "?start=2020-01-01", "?end=2020-01-01"])
def test_totals_of_the_csv_are_those_of_the_page(ada, acme, query):
    live(acme)
    holds.place(organization_id=acme.pk, source="r:1", amount_nano=7, actor=ACTOR)
    holds.settle(source="r:1", charge_nano=3, actor=ACTOR)
    rows = download(make_user("ada"), f"/credits/ledger.csv{query}")
    totals = ada.get(f"/credits{query}").context["totals"]
    amounts = [Decimal(row["amount_usd"]) * NANO_PER_DOLLAR for row in rows]
    assert len(rows) == totals.entries
    assert sum(amount for amount in amounts if amount > 0) == totals.added_nano
    assert sum(amount for amount in amounts if amount < 0) == totals.taken_nano
    assert sum(Decimal(row["held_usd"]) * NANO_PER_DOLLAR for row in rows) == totals.held_nano


def test_text_of_the_csv_is_never_a_formula(acme):
    live(acme)
    rows = download(make_user("ada"), "/credits/ledger.csv?kind=grant")
    assert rows[0]["description"] == "'=1+1"


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@x", "\t=1", "\r=1", "  =1", "\n=1"])
def test_cell_that_a_spreadsheet_would_run_is_quoted(cell):
    assert csv_export.text(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "welcome", "1=1", "a-b"])
def test_plain_cell_is_left_as_it_is(cell):
    assert csv_export.text(cell) == cell


def test_statement_of_the_month_adds_up_from_its_beginning_to_its_end(ada, acme):
    live(acme)
    corrections.adjust(organization_id=acme.pk, cents=-900, reason="counted twice", source="c", actor=ACTOR)
    credit_limits.set_limit(organization_id=acme.pk, cents=100, reason="contract 7", actor=ACTOR)
    answer = ada.get(f"/credits/statements/{clock.now():%Y-%m}")
    statement = answer.context["statement"]
    assert statement.opening_nano == 0
    assert [(part.label, part.amount_nano // 10**7) for part in statement.parts] == [
        ("Grant", 1_000),
        ("Charge", -150),
        ("Correction", -900),
    ]
    assert statement.opening_nano + sum(part.amount_nano for part in statement.parts) == statement.closing_nano
    assert statement.due_nano == cents_to_nano(50)
    html = answer.content.decode()
    assert "Amount due" in html
    assert "counted twice" in html
    assert "The month is not over" in html


def test_statement_begins_where_the_month_before_ended(acme):
    live(acme)
    rewrite("at = at - interval '40 days'")
    grant_credits(acme, 100)
    now = clock.now()
    months = statements.months(acme.pk)
    assert months[0] == now.date().replace(day=1)
    assert statements.get(acme.pk, months[0]).opening_nano == cents_to_nano(850)
    past = statements.get(acme.pk, months[-1])
    assert past.is_over
    assert past.closing_nano == cents_to_nano(850)


@pytest.mark.parametrize(
    "path", ["/credits/statements/1999-01", "/credits/statements/2026-13", "/credits/statements/0-0"]
)
def test_month_without_a_statement_is_not_found(ada, path):
    assert ada.get(path).status_code == 404


def test_nothing_of_another_organization_shows(ada, acme):
    globex = make_organization("Globex")
    live(globex, job="99999999-2222-4333-8444-555555555555")
    context = ada.get("/credits").context
    assert context["page"].entries == []
    assert context["totals"].entries == 0
    assert context["months"] == []
    assert download(make_user("ada"), "/credits/ledger.csv") == []
    assert ada.get(f"/credits/statements/{clock.now():%Y-%m}").status_code == 404


def test_every_member_sees_the_ledger_and_a_stranger_signs_in(acme):
    member = Client()
    member.force_login(add_member(acme, "bob"))
    assert member.get("/credits").status_code == 200
    assert Client().get("/credits")["Location"].startswith("/accounts/login/")


def test_page_asks_as_many_queries_for_many_lines_as_for_few(ada, acme):
    live(acme)

    def queries():
        with CaptureQueriesContext(connection) as captured:
            ada.get("/credits")
        return len(captured)

    few = queries()
    for i in range(30):
        grants.give(organization_id=acme.pk, cents=1, reason="r", source=f"g:{i}", actor=ACTOR)
    assert queries() == few
