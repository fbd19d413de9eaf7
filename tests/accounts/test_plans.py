"""Plans: which one binds an organization, what staff may do to them, and which terms are refused."""

from dataclasses import replace

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import plans as rules
from accounts.models import AuditEvent, Organization, Plan
from accounts.plans import SURFACES, PlanTerms
from accounts.selectors import plans as reads
from accounts.services import keys, plans
from anex.core.actors import system
from anex.core.errors import Conflict, Forbidden, InvalidRequest, NotFound
from tests.contract.described import judged
from tests.factories import make_key, make_organization, make_user, staff_browser

pytestmark = pytest.mark.django_db

BY = {"actor": system("tests"), "reason": "agreed"}
SMALL = PlanTerms("small", "Small", frozenset({"chat"}), 10, 500, 4096)
ABSURD = [0, -1, 2**31, 2**64 - 1, 10**30]


@pytest.fixture
def acme():
    return make_organization("Acme")


def test_installation_starts_with_one_default_plan_that_allows_everything():
    plan = Plan.objects.get()
    assert (plan.slug, plan.is_default, set(plan.surfaces)) == ("default", True, set(SURFACES))
    assert (plan.burst, plan.max_output_tokens) == (None, None)


def test_database_refuses_a_second_default_plan():
    with pytest.raises(IntegrityError), transaction.atomic():
        Plan.objects.create(slug="other", name="Other", is_default=True)


def test_organization_is_on_its_own_plan_else_on_the_default_one(acme):
    key = make_key(acme)
    assert keys.authenticate(key.header).plan == PlanTerms()
    small = plans.create(terms=SMALL, **BY)
    plans.give(organization_id=acme.pk, plan_id=small.pk, **BY)
    assert keys.authenticate(key.header).plan == reads.of(acme.pk) == SMALL
    plans.give(organization_id=acme.pk, plan_id=None, **BY)
    assert keys.authenticate(key.header).plan == PlanTerms()
    plans.make_default(plan_id=small.pk, **BY)
    assert keys.authenticate(key.header).plan == reads.of(acme.pk) == SMALL
    assert list(Plan.objects.filter(is_default=True)) == [small]


def test_own_plan_binds_even_where_it_is_the_default_one(acme):
    default = Plan.objects.get()
    plans.give(organization_id=acme.pk, plan_id=default.pk, **BY)
    plans.make_default(plan_id=plans.create(terms=SMALL, **BY).pk, **BY)
    assert reads.of(acme.pk) == PlanTerms()


def test_without_any_plan_everything_is_allowed(acme):
    Plan.objects.all().delete()
    assert keys.authenticate(make_key(acme).header).plan == reads.of(acme.pk) == PlanTerms()


def test_plan_is_read_in_the_query_that_reads_the_key(acme):
    key = make_key(acme)
    keys.authenticate(key.header)
    with CaptureQueriesContext(connection) as queries:
        keys.authenticate(key.header)
    assert len(queries) == 1


def test_terms_changed_are_in_force_at_once_and_the_slug_stays(acme):
    key = make_key(acme)
    plans.change(plan_id=Plan.objects.get().pk, terms=replace(SMALL, slug="renamed"), **BY)
    assert keys.authenticate(key.header).plan == replace(SMALL, slug="default")


@pytest.mark.parametrize("surface", SURFACES)
def test_caller_needs_the_surface_on_the_plan(surface):
    caller = make_key().caller
    caller.require_surface(surface)
    shut = replace(caller, plan=PlanTerms("some", "Some", frozenset(SURFACES) - {surface}))
    with pytest.raises(Forbidden) as refusal:
        shut.require_surface(surface)
    assert refusal.value.code == refusal.value.extra["code"] == f"plan_has_no_{surface}"
    assert refusal.value.extra["plan"] == "some"


@pytest.mark.parametrize("field", ["burst", "max_output_tokens", "history_budget_bytes"])
@pytest.mark.parametrize("value", ABSURD)
def test_absurd_quantity_is_refused_naming_the_field(field, value):
    with pytest.raises(InvalidRequest) as refusal:
        plans.create(terms=replace(SMALL, **{field: value}), **BY)
    assert refusal.value.param == field


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"slug": "no spaces"}, "slug"),
        ({"slug": "x" * 51}, "slug"),
        ({"slug": ""}, "slug"),
        ({"name": "  "}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"surfaces": frozenset({"fax"})}, "surfaces"),
    ],
)
def test_terms_that_make_no_sense_are_refused(change, param):
    with pytest.raises(InvalidRequest) as refusal:
        plans.create(terms=replace(SMALL, **change), **BY)
    assert refusal.value.param == param
    assert Plan.objects.count() == 1


def test_unknown_plan_and_organization_are_not_found_and_a_slug_is_taken_once(acme):
    with pytest.raises(NotFound):
        plans.give(organization_id=acme.pk, plan_id=10**9, **BY)
    with pytest.raises(NotFound):
        plans.give(organization_id="00000000-0000-0000-0000-000000000000", plan_id=None, **BY)
    with pytest.raises(NotFound):
        plans.make_default(plan_id=10**9, **BY)
    with pytest.raises(Conflict):
        plans.create(terms=PlanTerms(), **BY)


def test_output_above_the_ceiling_is_clamped_and_anything_below_stays():
    assert (SMALL.cap(501), SMALL.cap(499), PlanTerms().cap(10**9)) == (500, 499, 10**9)
    assert set(SURFACES) == rules.EVERY_SURFACE


def test_plan_of_a_key_is_read_with_the_key_and_says_whether_requests_are_answered(acme, client):
    key = {"Authorization": make_key(acme).header}
    (plan,) = client.get("/v1/plans", headers=key).json()["data"]
    assert (plan["id"], plan["limits"]["api"]) == ("default", {"may_generate": True, "interactive": {"burst": None}})
    assert plan["limits"]["history_budget_bytes"] is None
    plans.change(plan_id=Plan.objects.get().pk, terms=replace(SMALL, surfaces=frozenset({"batch"})), **BY)
    (plan,) = client.get("/v1/plans", headers=key).json()["data"]
    assert plan["limits"]["api"] == {"may_generate": False, "interactive": {"burst": 0}}
    assert (plan["surfaces"], plan["limits"]["history_budget_bytes"]) == (["batch"], 4096)
    assert judged("listPlansOnSecond", client.get("/openai/v1/plans", headers=key)) == 200
    assert client.get("/v1/plans").json()["error"]["code"] == "invalid_api_key"


def test_staff_make_change_and_give_plans_and_each_is_audited(acme):
    root = staff_browser()
    form = {"slug": "small", "name": "Small", "surfaces": ["chat"], "burst": "10", "max_output_tokens": "500"}
    assert root.post("/admin/accounts/plan/new/", form).status_code == 200, "no reason"
    assert root.post("/admin/accounts/plan/new/", form | {"reason": "launch"}).status_code == 302
    plan = Plan.objects.get(slug="small")
    assert 'value="500"' in root.get(f"/admin/accounts/plan/{plan.pk}/edit/").content.decode()
    changed = {"name": "Tiny", "surfaces": ["batch", "chat"], "max_output_tokens": "9", "history_budget_bytes": "70"}
    changed |= {"reason": "less"}
    root.post(f"/admin/accounts/plan/{plan.pk}/edit/", changed)
    assert "The default plan" in root.get(f"/admin/accounts/organization/{acme.pk}/plan/").content.decode()
    root.post(f"/admin/accounts/organization/{acme.pk}/plan/", {"plan": plan.pk, "reason": "asked"})
    root.post(f"/admin/accounts/plan/{plan.pk}/default/", {"reason": "all"})
    assert reads.of(acme.pk) == PlanTerms("small", "Tiny", frozenset({"batch", "chat"}), None, 9, 70)
    staff = AuditEvent.objects.filter(actor_kind="staff").order_by("pk")
    assert [(event.action, event.reason) for event in staff] == [
        ("plan.create", "launch"),
        ("plan.change", "less"),
        ("organization.plan", "asked"),
        ("plan.make_default", "all"),
    ]
    assert Organization.objects.get().plan == plan


@pytest.mark.parametrize("value", ["0", "-1", "1e308", "NaN", str(2**64 - 1)])
def test_staff_form_refuses_what_is_no_ceiling(value):
    form = {"slug": "small", "name": "Small", "max_output_tokens": value, "burst": value, "reason": "x"}
    assert staff_browser().post("/admin/accounts/plan/new/", form).status_code == 200
    assert Plan.objects.count() == 1


def test_staff_without_the_permission_change_no_plan(acme):
    clerk = staff_browser("clerk", is_superuser=False)
    assert clerk.post("/admin/accounts/plan/new/", {"reason": "x"}).status_code == 403
    assert clerk.post(f"/admin/accounts/organization/{acme.pk}/plan/", {"reason": "x"}).status_code == 403


def test_credits_page_shows_the_plan(acme):
    plans.give(organization_id=acme.pk, plan_id=plans.create(terms=SMALL, **BY).pk, **BY)
    browser = Client()
    browser.force_login(make_user("ada"))
    html = browser.get("/credits").content.decode()
    assert "Small" in html
    assert "500 tokens" in html
