"""Usage: one record per settled hold, sums that equal the ledger, read by key and on the page."""

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction
from django.db.models import Sum
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext

from accounts.services import keys, organizations
from anex.core import clock
from anex.core.actors import Actor
from anex.core.errors import NotFound
from anex.core.money import NANO_PER_DOLLAR, cents_to_nano
from anex.core.usage import Usage
from billing import usage_chart
from billing.models import Transfer, UsageDay, UsageRecord
from billing.services import holds, usage
from billing.usage import FIGURES
from billing.views import usage as page
from tests.contract.described import judged
from tests.factories import actor_of, grant_credits, make_key, make_organization, make_user

STAFF = Actor("staff", "7")


@pytest.fixture
def acme(db):
    organization = make_organization("Acme")
    grant_credits(organization)
    return organization


@pytest.fixture
def key(acme):
    return make_key(acme)


@pytest.fixture
def ada(acme):
    client = Client()
    client.force_login(make_user("ada"))
    return client


def consume(organization, actor, source="job:1", nano=10**9, model="gemma4-12b", surface="batch", days_ago=0):
    """A settled hold of `nano` with its record: 100 tokens in, 80 of them cached, 10 out."""
    holds.place(organization_id=organization.pk, source=source, amount_nano=max(nano, 1), actor=actor)
    holds.settle(source=source, charge_nano=nano, actor=actor)
    noted = usage.record(
        source=source, surface=surface, model_id=model, actor=actor, requests=2, usage=Usage(100, 80, 10)
    )
    if days_ago:
        UsageRecord.objects.filter(source=source).update(at=clock.now() - timedelta(days=days_ago))
    return noted


def get(client, path, key):
    return client.get(path, headers={"Authorization": key.header})


def download(path):
    """The rows of the CSV as Ada gets them."""
    client = AsyncClient()
    client.force_login(make_user("ada"))

    async def read():
        answer = await client.get(path)
        return b"".join([piece async for piece in answer]).decode()

    return list(csv.DictReader(io.StringIO(async_to_sync(read)())))


def charges(organization):
    lines = Transfer.objects.filter(debit__organization=organization, kind="charge")
    return lines.aggregate(sum=Sum("amount_nano", default=0))["sum"]


def test_record_has_the_charge_and_the_time_of_the_ledger_line(acme, key):
    assert consume(acme, key.caller.actor)
    record, line = UsageRecord.objects.get(), Transfer.objects.get(kind="charge")
    assert (record.amount_nano, record.at, record.organization) == (line.amount_nano, line.at, acme)
    assert (record.key_id, record.requests, record.cached_tokens) == (key.caller.key_id, 2, 80)


def test_second_record_of_a_hold_changes_nothing(acme, key):
    consume(acme, key.caller.actor)
    again = {"source": "job:1", "surface": "chat", "model_id": "m", "actor": STAFF, "requests": 9, "usage": Usage()}
    assert not usage.record(**again)
    assert UsageRecord.objects.get().requests == 2


def test_work_that_is_not_settled_has_no_usage_yet(acme):
    holds.place(organization_id=acme.pk, source="job:1", amount_nano=1, actor=STAFF)
    for source in ("job:1", "job:none"):
        with pytest.raises(NotFound):
            usage.record(source=source, surface="batch", model_id="m", actor=STAFF, requests=1, usage=Usage())


def test_free_work_is_recorded_at_nothing(acme):
    consume(acme, STAFF, nano=0)
    record = UsageRecord.objects.get()
    assert (record.amount_nano, record.key_id) == (0, "")
    assert record.at


def test_a_key_reads_usage_that_adds_up_to_the_ledger(client, acme, key):
    other = make_key(acme, name="other")
    consume(acme, key.caller.actor, "job:1", 1_234_567_891)
    consume(acme, key.caller.actor, "r:1", 7, surface="chat")
    consume(acme, other.caller.actor, "r:2", 8, surface="chat")
    consume(acme, actor_of(make_user("ada")), "job:2", cents_to_nano(5), model="laya")
    answer = get(client, "/v1/usage", key)
    body = answer.json()
    assert judged("getUsage", answer) == judged("getUsageOnSecond", get(client, "/openai/v1/usage", key)) == 200
    assert body["group_by"] == ["day", "model", "key", "surface"]
    assert body["total"]["cost_nano_usd"] == sum(row["cost_nano_usd"] for row in body["data"]) == charges(acme)
    assert len(body["data"]) == 4
    assert {row["key"] for row in body["data"]} == {key.caller.key_id, other.caller.key_id, None}
    assert body["data"][0] == {
        "day": f"{clock.now():%Y-%m-%d}",
        "model": "gemma4-12b",
        "key": key.caller.key_id,
        "surface": "batch",
        "requests": 2,
        "input_tokens": 100,
        "cached_tokens": 80,
        "output_tokens": 10,
        "cost": 123.4567891,
        "cost_nano_usd": 1_234_567_891,
    }


@pytest.mark.parametrize(
    ("by", "rows"), [("day", 1), ("model", 2), ("surface,model", 3), ("key", 2), ("", 1), ("day,model,key,surface", 3)]
)
def test_breakdown_is_by_what_was_asked(client, acme, key, by, rows):
    consume(acme, key.caller.actor, "job:1")
    consume(acme, key.caller.actor, "r:1", surface="chat")
    consume(acme, STAFF, "job:2", model="laya")
    body = get(client, f"/v1/usage?group_by={by}", key).json()
    assert len(body["data"]) == rows
    assert sum(row["cost_nano_usd"] for row in body["data"]) == charges(acme)
    assert [name for name in body["data"][0] if name in ("day", "model", "key", "surface")] == body["group_by"]


def test_a_day_is_a_day_in_utc_and_both_ends_are_included(client, acme, key):
    consume(acme, STAFF, "job:1")
    moments = {"job:1": datetime(2026, 1, 31, 23, 59, 59, 999_999, UTC)}
    consume(acme, STAFF, "job:2")
    moments["job:2"] = datetime(2026, 2, 1, tzinfo=UTC)
    for source, at in moments.items():
        UsageRecord.objects.filter(source=source).update(at=at)

    def found(query):
        return [row["day"] for row in get(client, f"/v1/usage?group_by=day&{query}", key).json()["data"]]

    assert found("start_date=2026-01-31&end_date=2026-01-31") == ["2026-01-31"]
    assert found("start_date=2026-01-31&end_date=2026-02-01") == ["2026-02-01", "2026-01-31"]
    assert found("start_date=2026-02-02&end_date=2026-02-03") == []


def test_thirty_days_are_shown_unless_others_are_asked_for(client, acme, key):
    consume(acme, STAFF, "job:1", days_ago=29)
    consume(acme, STAFF, "job:2", days_ago=31)
    assert get(client, "/v1/usage", key).json()["total"]["requests"] == 2


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("start_date=yesterday", "start_date"),
        ("end_date=2026-02-30", "end_date"),
        ("end_date=1e308", "end_date"),
        ("start_date=2026-02-01&end_date=2026-01-01", "end_date"),
        ("start_date=2020-01-01&end_date=2026-01-01", "start_date"),
        ("start_date=9999-12-31&end_date=9999-12-31", "start_date"),
        ("group_by=color", "group_by"),
    ],
)
def test_question_that_makes_no_sense_is_400_and_names_the_parameter(client, acme, key, query, param):
    answer = get(client, f"/v1/usage?{query}", key)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["param"], error["type"], error["code"]) == (param, "invalid_request_error", "invalid_request")


def test_earliest_day_there_is_needs_no_days_before_it(client, acme, key):
    assert get(client, "/v1/usage?end_date=0001-01-01", key).json()["start_date"] == "0001-01-01"


def test_balance_is_read_with_the_key_itself(client, acme, key):
    holds.place(organization_id=acme.pk, source="job:1", amount_nano=cents_to_nano(400), actor=STAFF)
    consume(acme, STAFF, "r:1", nano=5_000_000)
    assert judged("getBalanceOnSecond", get(client, "/openai/v1/balance", key)) == 200
    assert get(client, "/v1/balance", key).json() == {
        "object": "balance",
        "balance": 9_999.5,
        "held": 400,
        "credit_limit": 0,
        "available": 9_599.5,
        "currency": "usd",
    }


@pytest.mark.parametrize("path", ["/v1/usage", "/v1/balance"])
def test_refusals_have_the_shape_of_the_host(client, acme, key, path):
    missing = client.get(path)
    assert missing.status_code == 401
    assert missing["WWW-Authenticate"] == "Bearer"
    assert missing.json()["error"]["code"] == "invalid_api_key"
    assert client.post(path, headers={"Authorization": key.header}).json()["error"]["code"] == "method_not_allowed"
    organizations.suspend(organization_id=acme.pk, actor=STAFF, reason="unpaid")
    suspended = get(client, path, key)
    assert (suspended.status_code, suspended.json()["error"]["code"]) == (403, "org_suspended")


def test_nothing_of_another_organization_counts(client, acme, key, ada):
    globex = make_organization("Globex")
    grant_credits(globex)
    consume(globex, STAFF, "job:9")
    assert get(client, "/v1/usage", key).json()["data"] == []
    assert ada.get("/usage").context["total"].requests == 0
    assert get(client, "/v1/balance", key).json()["balance"] == 10_000


def test_page_shows_the_breakdown_with_names_of_keys(ada, acme, key):
    consume(acme, key.caller.actor, "job:1")
    consume(acme, actor_of(make_user("ada")), "job:2", model="laya")
    html = ada.get("/usage").content.decode()
    for shown in ("test key", "Console", "laya", "$2.00", "Days are in UTC"):
        assert shown in html
    assert "No usage in these days" in ada.get("/usage?start_date=2020-01-01&end_date=2020-01-02").content.decode()
    assert "The last 30 days are shown" in ada.get("/usage?start_date=x").content.decode()
    assert [row.model for row, _ in ada.get("/usage?by=model").context["rows"]] == ["gemma4-12b", "laya"]


def test_page_shows_an_example_until_there_is_something_to_show(ada, acme, key):
    html = ada.get("/usage").content.decode()
    assert "No usage yet" in html
    assert 'opacity="0.3"' in html
    consume(acme, key.caller.actor, "job:1")
    html = ada.get("/usage?start_date=2020-01-01&end_date=2020-01-02").content.decode()
    assert "No usage in these days" in html
    assert 'opacity="0.3"' not in html


def test_chart_stacks_the_largest_groups_and_the_rest(ada, acme, key, monkeypatch):
    monkeypatch.setattr(usage_chart, "SERIES", 2)
    for place, model in enumerate(["a", "b", "c", "c"]):
        consume(acme, STAFF, f"job:{place}", 10**9 * (place + 1), model=model)
    consume(acme, STAFF, "job:9", 10**9, model="a", days_ago=6)
    shown = ada.get("/usage?days=7")
    chart = shown.context["chart"]
    assert (chart.width, len(chart.days), chart.most) == (70, 7, 10**10)
    assert [(series.name, series.path) for series in chart.series] == [
        ("c", "M61 30.00h8v70.00h-8z"),
        ("a", "M1 90.00h8v10.00h-8zM61 20.00h8v10.00h-8z"),
        (usage_chart.OTHERS, "M61 0.00h8v20.00h-8z"),
    ]
    assert "$10.00, 8 requests" in shown.content.decode()
    assert ada.get("/usage?days=7&figure=requests&split=key").context["series"][0][0] == "Console"
    assert ada.get("/usage?days=1").context["total"].amount_nano == 10**10


@pytest.mark.parametrize(
    ("query", "requests"), [("model=laya", 2), ("key=console", 2), ("model=laya&surface=chat", 0), ("surface=batch", 4)]
)
def test_filters_narrow_page_and_csv_alike(ada, acme, key, query, requests):
    consume(acme, key.caller.actor, "job:1")
    consume(acme, STAFF, "job:2", model="laya")
    shown = ada.get(f"/usage?{query}").context
    assert shown["total"].requests == sum(row.requests for row, _ in shown["rows"]) == requests
    assert sum(int(row["requests"]) for row in download(f"/usage.csv?{query}")) == requests


def test_pages_of_the_table_follow_each_other(ada, acme, key, monkeypatch):
    monkeypatch.setattr(page, "PAGE", 2)
    for i in range(3):
        consume(acme, key.caller.actor, f"r:{i}", days_ago=i)
    first = ada.get("/usage?by=day&page=x")
    second = ada.get(f"/usage?{first.context['older']}")
    assert [len(first.context["rows"]), len(second.context["rows"])] == [2, 1]
    assert second.context["older"] == ""
    assert ada.get("/usage?page=999999999").status_code == 200


def test_page_asks_as_many_queries_for_many_groups_as_for_few(ada, acme, key):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            ada.get("/usage")
        return len(captured)

    consume(acme, key.caller.actor, "r:1")
    few = queries()
    for i in range(2, 12):
        consume(acme, make_key(acme, name=f"k{i}").caller.actor, f"r:{i}", model=f"m{i}", days_ago=i)
    assert queries() == few <= 20


def test_usage_that_moves_to_another_day_leaves_none_behind(ada, acme, key):
    consume(acme, key.caller.actor, "r:1", days_ago=3)
    assert [row.day for row, _ in ada.get("/usage?by=day").context["rows"]] == [clock.now().date() - timedelta(days=3)]


def test_revoked_key_keeps_its_name_in_the_table(ada, acme, key):
    consume(acme, key.caller.actor)
    keys.revoke(organization_id=acme.pk, key_id=key.caller.key_id, actor=STAFF)
    assert "test key" in ada.get("/usage").content.decode()


@pytest.mark.parametrize("query", ["", "?by=model&by=surface", "?by=day"])
def test_totals_of_the_csv_are_those_of_the_page(ada, acme, key, query):
    for i in range(4):
        consume(acme, key.caller.actor, f"r:{i}", 10**9 + i, model="=laya", surface="chat", days_ago=i)
    rows = download(f"/usage.csv{query}")
    total = ada.get(f"/usage{query}").context["total"]
    assert sum(Decimal(row["cost_usd"]) * NANO_PER_DOLLAR for row in rows) == total.amount_nano == 4 * 10**9 + 6
    for figure in ("requests", "input_tokens", "cached_tokens", "output_tokens"):
        assert sum(int(row[figure]) for row in rows) == getattr(total, figure)
    assert all(row.get("model", "'=laya") == "'=laya" for row in rows)


def test_stranger_signs_in_first(client, db):
    for path in ("/usage", "/usage.csv"):
        assert client.get(path)["Location"].startswith("/accounts/login/")


def test_unknown_surface_is_a_mistake_of_ours(acme):
    with pytest.raises(ValueError, match="no surface"):
        usage.record(source=str(uuid4()), surface="fax", model_id="m", actor=STAFF, requests=1, usage=Usage())


@pytest.mark.django_db(transaction=True)
def test_sums_by_day_are_those_of_the_records_whatever_is_settled_at_once_or_rolled_back():
    organizations_of = [make_organization(name) for name in ("Acme", "Globex")]
    for organization in organizations_of:
        grant_credits(organization)
    actors = [make_key(organization).caller.actor for organization in organizations_of]

    def settle(number):
        place = number % 2
        try:
            with transaction.atomic():
                consume(organizations_of[place], actors[place], f"r:{number}", nano=number + 1, days_ago=number % 3)
                if number % 5 == 0:
                    raise NotFound("rolled back")
        except NotFound:
            pass
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(settle, range(30)))
    for organization in organizations_of:
        sums = [
            table.objects.filter(organization=organization).aggregate(*(Sum(name) for name in FIGURES))
            for table in (UsageRecord, UsageDay)
        ]
        assert sums[0] == sums[1]
        assert sums[0]["requests__sum"] == 2 * UsageRecord.objects.filter(organization=organization).count() == 24
