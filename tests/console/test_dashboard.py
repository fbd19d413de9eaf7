from accounts.models import Membership, User
from tests.console import scenes
from tests.factories import grant_credits, make_key, make_organization, make_user


def dashboard(browser):
    return browser.get("/dashboard").content.decode()


def test_new_organization_sees_three_steps(ada):
    html = dashboard(ada)
    assert "Three steps" in html
    assert html.count(">Done<") == 0
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
    assert dashboard(ada).count(">Done<") == 2
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
        html.index("Waiting for approval"),
        html.index(f"/jobs/{waiting.pk}/approve"),
        html.index('id="running"'),
        html.index(str(running.pk)),
        html.index("300 of 1,200 rows"),
        html.index("Last finished"),
        html.index(str(finished.pk)),
    ]
    assert places == sorted(places)


def test_live_part_asks_faster_while_something_runs(ada, acme):
    assert "every 10s" in ada.get("/dashboard/live").content.decode()
    scenes.running(acme)
    assert "every 2s" in ada.get("/dashboard/live").content.decode()


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
