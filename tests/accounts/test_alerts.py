"""Alerts: one row per crossing, one e-mail per row, whatever is killed, doubled or away; and who gets it."""

import smtplib
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection, transaction
from django.test import Client

from accounts import tasks
from accounts.alert_kinds import LABELS, MAX_ATTEMPTS, SUBJECTS, Kind, wait_after
from accounts.models import Alert, AuditEvent
from accounts.services import alerts, memberships
from anex.core import clock
from anex.core.errors import InvalidRequest
from tests.factories import actor_of, add_member, make_organization, make_user

FACTS = {
    Kind.LOW_BALANCE: {"available": "$1.00", "threshold": "$5.00"},
    Kind.AUTO_TOPUP_FAILED: {"amount": "$30.00", "failure": "The card was declined."},
    Kind.KEY_CEILING: {"name": "k", "period": "daily", "ceiling": "$1.00", "spent": "$0.80", "until": "2026-01-02"},
    Kind.JOB_AWAITING_APPROVAL: {"model": "m", "rows": 7, "quote": "$0.72", "until": "2026-01-02 00:00"},
    Kind.JOB_DONE: {
        "model": "m",
        "charge": "$0.41",
        "rows": 95,
        "answered": 90,
        "errors": 3,
        "until": "2026-01-02 00:00",
    },
    Kind.JOB_FAILED: {"model": "m", "charge": "$0.00", "answered": 0, "code": "invalid_input"},
}


class Refusing(EmailBackend):
    """A server that is there and takes nothing."""

    def send_messages(self, messages):
        raise smtplib.SMTPRecipientsRefused({message.to[0]: (550, b"no") for message in messages})


class Away(EmailBackend):
    """A server that is not there."""

    def open(self):
        raise ConnectionRefusedError


@pytest.fixture
def acme(db):
    return make_organization("Acme")


def tell(organization, kind=Kind.JOB_DONE, crossing="1", **more):
    return alerts.raise_once(
        organization_id=organization.pk, kind=kind, subject="x1", crossing=crossing, facts=FACTS[kind], **more
    )


def backend(settings, server):
    settings.EMAIL_BACKEND = f"{__name__}.{server.__name__}"


def test_crossing_is_told_once_and_the_next_one_again(acme):
    assert [tell(acme), tell(acme), tell(acme, crossing="2")] == [True, False, True]
    assert tell(make_organization("Globex"))
    assert alerts.send_due(clock.now()) == 3
    assert alerts.send_due(clock.now() + timedelta(days=1)) == 0
    assert len(mail.outbox) == 3


def test_effect_that_is_rolled_back_tells_nothing(acme):
    with pytest.raises(RuntimeError), transaction.atomic():
        tell(acme)
        raise RuntimeError
    assert alerts.send_due(clock.now()) == 0


@pytest.mark.parametrize("kind", list(Kind))
def test_each_email_names_what_to_do_next_with_a_link(acme, settings, kind):
    tell(acme, kind)
    alerts.send_due(clock.now())
    [sent] = mail.outbox
    assert sent.subject == f"{SUBJECTS[kind]} (Acme)"
    assert f"{settings.ANEX_PUBLIC_URL}/alerts" in sent.body
    assert sent.body.count(settings.ANEX_PUBLIC_URL) >= 2
    assert all(str(fact) in sent.body for fact in FACTS[kind].values())
    assert "{{" not in sent.body
    assert sent.extra_headers["Message-ID"].startswith("<alert-")
    assert set(LABELS) == set(SUBJECTS) == set(Kind)


def test_owners_admins_and_the_person_named_are_told_and_nobody_else(acme):
    add_member(acme, "bob", "admin")
    add_member(acme, "joan")
    mary = add_member(acme, "mary")
    add_member(acme, "hedy", "owner")
    make_user("hedy").__class__.objects.filter(email="hedy@example.com").update(is_active=False)
    tell(acme, person_id=mary.pk)
    tell(acme, crossing="2", person_id=make_user("stranger").pk)
    alerts.send_due(clock.now())
    assert [sorted(sent.to) for sent in mail.outbox] == [
        ["ada@example.com", "bob@example.com", "mary@example.com"],
        ["ada@example.com", "bob@example.com"],
    ]


def test_member_who_wants_none_gets_none_and_an_alert_for_nobody_is_over(acme):
    ada = make_user("ada")
    choice = {"organization_id": acme.pk, "user_id": ada.pk, "actor": actor_of(ada)}
    memberships.choose_alerts(wanted=[Kind.JOB_DONE], **choice)
    tell(acme, Kind.JOB_FAILED)
    tell(acme, Kind.JOB_DONE)
    alerts.send_due(clock.now())
    assert [sent.subject for sent in mail.outbox] == ["A job is done (Acme)"]
    assert not Alert.objects.filter(sent_at=None).exists()
    with pytest.raises(InvalidRequest):
        memberships.choose_alerts(wanted=["everything"], **choice)


def test_page_keeps_ones_choice_for_this_organization_alone(acme):
    add_member(make_organization("Globex"), "ada", "admin")
    browser = Client()
    browser.force_login(make_user("ada"))
    assert browser.get("/alerts").content.decode().count(" checked") == len(Kind)
    assert browser.post("/alerts", {"wanted": ["job_done", "job_failed"]}).status_code == 302
    assert browser.get("/alerts").content.decode().count(" checked") == 2
    assert browser.post("/alerts", {"wanted": ["everything"]}).status_code == 400
    muted = {m.organization.name: m.muted_alerts for m in make_user("ada").memberships.all()}
    assert muted == {"Acme": ["low_balance", "auto_topup_failed", "key_ceiling", "job_awaiting"], "Globex": []}
    assert AuditEvent.objects.get(action="member.alerts").details == {"muted": muted["Acme"]}


def test_refused_email_is_tried_again_after_growing_waits_and_given_up_in_the_end(acme, settings, caplog):
    backend(settings, Refusing)
    tell(acme)
    now, tried = clock.now(), []
    while len(tried) < MAX_ATTEMPTS:
        assert alerts.send_due(now) == 0
        alert = Alert.objects.get()
        tried.append(alert.next_attempt_at - now)
        assert alerts.send_due(alert.next_attempt_at - timedelta(seconds=1)) == 0
        now = alert.next_attempt_at
    assert tried[:4] == [timedelta(minutes=minutes) for minutes in (1, 2, 4, 8)]
    assert max(tried) == timedelta(hours=1)
    alerts.send_due(now + timedelta(days=1))
    assert (Alert.objects.get().attempts, Alert.objects.get().sent_at) == (MAX_ATTEMPTS, None)
    assert "example.com" not in caplog.text


def test_refused_email_holds_up_no_other(acme, settings):
    class Picky(EmailBackend):
        def send_messages(self, messages):
            if "failed" in messages[0].subject:
                raise smtplib.SMTPDataError(554, b"no")
            return super().send_messages(messages)

    globals()["Picky"] = Picky
    backend(settings, Picky)
    tell(acme, Kind.JOB_FAILED)
    tell(acme, Kind.JOB_DONE)
    assert alerts.send_due(clock.now()) == 1


def test_mail_server_that_is_away_costs_no_attempt(acme, settings):
    backend(settings, Away)
    tell(acme)
    with pytest.raises(ConnectionRefusedError):
        alerts.send_due(clock.now())
    assert Alert.objects.get().attempts == 0
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    tasks.sweep()
    assert len(mail.outbox) == 1


def test_attempt_cut_off_by_a_kill_is_made_again(acme, monkeypatch):
    tell(acme)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(alerts, "_message", killed)
        with pytest.raises(KeyboardInterrupt):
            alerts.send_due(clock.now())
    assert alerts.send_due(clock.now()) == 0, "another sweep at once takes it for being sent"
    assert alerts.send_due(clock.now() + wait_after(1)) == 1


def test_unsent_alert_can_be_withdrawn_and_a_sent_one_stays(acme):
    tell(acme)
    alerts.withdraw(organization_id=acme.pk, kind=Kind.JOB_DONE, subject="x1")
    assert not Alert.objects.exists()
    tell(acme)
    alerts.send_due(clock.now())
    alerts.withdraw(organization_id=acme.pk, kind=Kind.JOB_DONE, subject="x1")
    assert Alert.objects.exists()


def test_alerts_of_long_ago_are_forgotten(acme):
    tell(acme)
    assert alerts.forget(clock.now()) == 0
    assert alerts.forget(clock.now() + alerts.KEPT + timedelta(seconds=1)) == 1


@pytest.mark.django_db(transaction=True)
def test_two_sweeps_and_two_raisers_at_once_send_one_email_per_crossing():
    acme = make_organization("Acme")
    together, raised, sent = Barrier(4), [], []

    def work():
        try:
            together.wait()
            raised.extend(tell(acme, crossing=str(number)) for number in range(10))
            together.wait()
            sent.append(alerts.send_due(clock.now()))
        finally:
            connection.close()

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (raised.count(True), len(raised)) == (10, 40)
    assert sum(sent) == len(mail.outbox) == 10
