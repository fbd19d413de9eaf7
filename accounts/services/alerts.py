"""E-mails about what happened, each sent once.

An alert is a row written in the transaction of what it tells about, so a crash loses neither or both. The sweep sends
the rows that are due. It takes a row by counting the attempt, with the end of the wait set before anything is sent:
of two sweeps at once one sends, and an attempt that a kill cut off is made again. A kill between the mail server's
answer and our note of it is what can send an e-mail twice; both then carry the same Message-ID.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from smtplib import SMTPServerDisconnected
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import F
from django.template.loader import render_to_string

from accounts.alert_kinds import MAX_ATTEMPTS, SUBJECTS, Kind, wait_after
from accounts.models import Alert
from accounts.selectors import memberships
from anex.core import clock

log = logging.getLogger(__name__)

KEPT = timedelta(days=90)
_AT_ONCE = 500


def raise_once(
    *,
    organization_id: UUID,
    kind: Kind,
    subject: str,
    crossing: str,
    facts: Mapping[str, object],
    person_id: int | None = None,
) -> bool:
    """Tell owners and admins, and the person named, about `subject`; False when this crossing was told already.

    Call it inside the transaction of the effect. `subject` is an id, `crossing` tells one time from the next, and
    `facts` fill the e-mail's template: numbers and codes, never what a customer's rows hold.
    """
    _, made = Alert.objects.get_or_create(
        organization_id=organization_id,
        kind=kind,
        subject=subject,
        crossing=crossing,
        defaults={"facts": dict(facts), "person_id": person_id, "next_attempt_at": clock.now()},
    )
    return made


def withdraw(*, organization_id: UUID, kind: Kind, subject: str) -> None:
    """Take back an e-mail that is not sent yet and has nothing to ask for any more."""
    Alert.objects.filter(organization_id=organization_id, kind=kind, subject=subject, sent_at=None).delete()


def send_due(now: datetime) -> int:
    """Send what is due and answer how much was sent; safe to run twice at once.

    A mail server that cannot be reached raises OSError before any attempt is counted. One that hangs up, as many do
    after some e-mails, is called again; where it hangs up at once, OSError leaves the rest to the next sweep.
    """
    due = Alert.objects.filter(sent_at=None, next_attempt_at__lte=now, attempts__lt=MAX_ATTEMPTS)
    waiting = list(due.select_related("organization").order_by("next_attempt_at", "pk")[:_AT_ONCE])
    if not waiting:
        return 0
    with get_connection() as connection:
        return sum(_send(alert, connection, now) for alert in waiting)


def forget(now: datetime) -> int:
    """Delete alerts of long ago; answers how many."""
    forgotten, _ = Alert.objects.filter(raised_at__lte=now - KEPT).delete()
    return forgotten


def _send(alert: Alert, connection: BaseEmailBackend, now: datetime) -> bool:
    fresh = connection.open()
    mine = Alert.objects.filter(pk=alert.pk, sent_at=None, attempts=alert.attempts)
    if not mine.update(attempts=F("attempts") + 1, next_attempt_at=now + wait_after(alert.attempts + 1)):
        return False
    try:
        message = _message(alert, connection)
        if message.to:
            message.send()
    except Exception as error:
        # Errors of a mail server quote addresses.
        log.error("alert %s was not sent: %s", alert.pk, type(error).__name__)
        with suppress(OSError):  # a broken connection would fail the next e-mail too
            connection.close()
        if fresh and isinstance(error, SMTPServerDisconnected):
            raise
        return False
    Alert.objects.filter(pk=alert.pk).update(sent_at=clock.now())
    return True


def _message(alert: Alert, connection: BaseEmailBackend) -> EmailMessage:
    kind = Kind(alert.kind)
    context = {"organization": alert.organization.name, "subject": alert.subject, "url": settings.ANEX_PUBLIC_URL}
    host = urlsplit(settings.ANEX_PUBLIC_URL).hostname or "anex"
    return EmailMessage(
        # The name is free text: a line break in it must not become a header. It has none (services.names).
        subject=f"{SUBJECTS[kind]} ({alert.organization.name})",
        body=render_to_string(f"accounts/email/{kind}.txt", context | alert.facts),
        to=memberships.addresses_to_alert(alert.organization_id, kind, alert.person_id),
        headers={"Message-ID": f"<alert-{alert.pk}@{host}>", "Auto-Submitted": "auto-generated"},
        connection=connection,
    )
