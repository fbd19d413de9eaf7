"""Alerts to a mail server that hangs up: the rest of them are neither lost nor counted as tried."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread

import pytest

from accounts.alert_kinds import Kind
from accounts.models import Alert
from accounts.services import alerts
from anex.core import clock
from tests.accounts.test_alerts import FACTS
from tests.factories import make_organization

pytestmark = pytest.mark.django_db


class MailServer:
    """Speaks enough SMTP; takes `per_connection` e-mails and answers the next one with `farewell`, then hangs up."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.per_connection, self.farewell = 3, b"421 enough\r\n"
        self.connections = self.taken = 0
        self._thread = Thread(target=self._serve)
        self._thread.start()

    def stop(self) -> None:
        self.listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self.listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                peer, _ = self.listening.accept()
                self.connections += 1
                with peer, peer.makefile("rb") as lines, suppress(OSError):
                    self._talk(peer, lines)

    def _talk(self, peer, lines) -> None:
        taken = 0
        peer.sendall(b"220 hello\r\n")
        for line in lines:
            if line.startswith(b"mail") and taken == self.per_connection:
                return peer.sendall(self.farewell)
            if line.startswith(b"data"):
                peer.sendall(b"354 go on\r\n")
                while lines.readline() != b".\r\n":
                    pass
                taken += 1
                self.taken += 1
            peer.sendall(b"250 yes\r\n")
        return None


@pytest.fixture
def server(settings) -> Iterator[MailServer]:
    running = MailServer()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = running.listening.getsockname()
    yield running
    running.stop()


@pytest.fixture
def waiting(db) -> None:
    acme, kind = make_organization("Acme"), Kind.JOB_DONE
    for number in range(10):
        alerts.raise_once(organization_id=acme.pk, kind=kind, subject="x1", crossing=str(number), facts=FACTS[kind])


def attempts() -> list[int]:
    return list(Alert.objects.order_by("pk").values_list("attempts", flat=True))


@pytest.mark.parametrize("farewell", [b"421 enough\r\n", b""], ids=["with a word", "silently"])
def test_server_that_hangs_up_after_some_emails_is_called_again(server, waiting, farewell):
    server.farewell = farewell
    assert alerts.send_due(clock.now()) == server.taken == 8
    assert server.connections == 3
    assert Alert.objects.filter(sent_at=None).count() == 2, "one for each time it hung up"


def test_server_that_hangs_up_at_once_costs_few_attempts(server, waiting):
    server.per_connection, server.farewell = 0, b""
    with pytest.raises(OSError, match="closed"):
        alerts.send_due(clock.now())
    assert attempts() == [1, 1] + [0] * 8
    server.per_connection = 100
    assert alerts.send_due(clock.now()) == 8
