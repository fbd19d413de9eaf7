from accounts.models import Membership, User
from accounts.services import playground
from billing.services import balance_alerts
from tests.console import scenes
from tests.factories import actor_of, grant_credits, make_key, make_organization, make_user


def dashboard(browser):
    return browser.get("/dashboard").content.decode()


def test_new_organization_sees_three_steps(ada):
    html = dashboard(ada)
    assert "Three steps" in html
    assert html.count("data-done") == 0
    assert html.index("Add credits") < html.index("Create an API key") < html.index("Run a job")


def test_where_payments_are_taken_the_first_step_leads_to_them(ada, acme):
    assert "/credits/add" in dashboard(ada)
    assert "ask for some" not in dashboard(ada)


def test_where_nothing_can_be_bought_people_are_told_whom_to_ask_and_staff_can_grant(ada, acme, settings):
    settings.ANEX_LOCAL_PAYMENTS = False
    assert f"ask for some for “{acme.name}”" in dashboard(ada)
    assert "grant-credits" not in dashboard(ada)
    User.objects.update(is_staff=True)
    assert f"grant-credits/?organization={acme.pk}" in dashboard(ada)


def test_steps_are_ticked_off_and_then_gone(ada, acme):
    grant_credits(acme, 500)
    make_key(acme)
    assert dashboard(ada).count("data-done") == 2
    scenes.done(acme)
    assert "Three steps" not in dashboard(ada)


def test_balance_is_what_can_be_spent(ada, acme):
    grant_credits(acme, 500)
    job = scenes.quoted(acme)
    ada.post(f"/jobs/{job.pk}/approve")
    html = dashboard(ada)
    for shown in ("$0.88", "$5.00", "$4.12"):
        assert shown in html


def test_waiting_running_and_finished_jobs_stand_in_their_places(ada, acme):
    waiting, running, finished = scenes.quoted(acme), scenes.running(acme), scenes.done(acme)
    html = dashboard(ada)
    places = [
        html.index("Waiting for your approval"),
        html.index(f"/jobs/{waiting.pk}/approve"),
        html.index('id="running"'),
        html.index(f"/jobs/{running.pk}"),
        html.index("300 of 1,200 rows"),
        html.index("Last finished"),
        html.index(str(finished.pk)),
    ]
    assert places == sorted(places)


def test_live_part_names_what_moves_and_asks_where_nothing_does(ada, acme):
    assert "every 10s" in ada.get("/dashboard/live").content.decode()
    moving = scenes.running(acme)
    html = ada.get("/dashboard/live").content.decode()
    assert 'hx-trigger="refresh, every 15s"' in html
    assert f'data-live="{moving.pk} "' in html


def test_nothing_of_another_organization_shows(ada):
    globex = make_organization("Globex")
    grant_credits(globex, 777)
    foreign = scenes.quoted(globex)
    html = dashboard(ada)
    assert str(foreign.pk) not in html
    assert "$7.77" not in html


def test_person_in_two_organizations_acts_for_the_first(ada, acme):
    globex = make_organization("Globex")
    Membership.objects.create(organization=globex, user=make_user("ada"), role="member")
    assert "<h1>Acme</h1>" in dashboard(ada)


def test_root_leads_to_the_dashboard(ada):
    assert ada.get("/")["Location"] == "/dashboard"


def test_the_page_asks_the_database_a_few_times_however_many_jobs(ada, acme, django_assert_max_num_queries):
    for scene in (scenes.quoted, scenes.running, scenes.running, scenes.done, scenes.done) * 3:
        scene(acme)
    with django_assert_max_num_queries(15):
        html = dashboard(ada)
    assert "1 more" in html


def test_who_cannot_afford_a_quote_is_told_what_is_missing(ada, acme):
    grant_credits(acme, 400)
    scenes.quoted(acme)
    assert "$0.12 more credits are needed" in dashboard(ada)


def test_a_low_balance_is_told_once_there_is_work(ada, acme):
    grant_credits(acme, 500)
    balance_alerts.configure(organization_id=acme.pk, threshold_cents=1000, actor=actor_of(make_user("ada")))
    assert "less than the $10.00" not in dashboard(ada)
    scenes.done(acme)
    assert "$5.00 is left, less than the $10.00" in dashboard(ada)


def test_the_key_of_the_playground_is_no_first_key(ada, acme):
    playground.open(organization_id=acme.pk, user_id=make_user("ada").pk)
    assert dashboard(ada).count("data-done") == 0
