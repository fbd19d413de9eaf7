"""The platform with everything that watches it: a collector of traces, a model server that is overheard, JSON lines."""

import http.client
import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.faults.test_webhooks import start_worker
from tests.https import Authority, Server
from tests.otlp import Collector, collecting
from tests.stack import Stack

SETTINGS = "tests.flows.json_lines"
# Beside what every stack has: a person who may sign in, and where webhooks go.
MORE = """
from pathlib import Path
from allauth.account.models import EmailAddress
from anex.core import safe_http
from jobs.services import endpoints
EmailAddress.objects.create(user=ada, email=ada.email, primary=True, verified=True)
safe_http.check_url = lambda url: None
wishes = endpoints.Wishes("{hook}")
made = endpoints.create(organization_id=organization.pk, wishes=wishes, actor=system("setup"))
Path("{kept}").write_text(made.secret)
"""


class Overheard:
    """Stands in front of a model server and notes the `traceparent` of each request."""

    def __init__(self) -> None:
        self.engine_port = 0
        self.parents: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._pass_on(None)

            def do_POST(self) -> None:
                outer.parents.append(self.headers.get("traceparent", ""))
                self._pass_on(self.rfile.read(int(self.headers["Content-Length"])))

            def _pass_on(self, body: bytes | None) -> None:
                asked = http.client.HTTPConnection("127.0.0.1", outer.engine_port, timeout=20)
                asked.request(self.command, self.path, body, {"Content-Type": "application/json"})
                answer = asked.getresponse()
                try:
                    whole = answer.read()
                except http.client.IncompleteRead as cut:
                    whole = cut.partial
                asked.close()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.getheader("Content-Type", "text/plain"))
                self.send_header("Content-Length", str(len(whole)))
                self.end_headers()
                self.wfile.write(whole)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


class Watched(Stack):
    """A stack whose platform tells a collector, and reaches its model server through somebody who listens."""

    def __init__(self, state: Path, collector: Collector, overheard: Overheard, hook: str) -> None:
        own = {"DJANGO_SETTINGS_MODULE": SETTINGS, "ANEX_LOG_LEVEL": "DEBUG", **collector.environment}
        super().__init__(state, workers=0, durable=False, environment=own)
        overheard.engine_port = self.engine_port
        self._setup = self._setup.replace(f":{self.engine_port}/", f":{overheard.port}/")
        self._setup += MORE.format(hook=hook, kept=state / "hook")
        self.collector, self.overheard = collector, overheard

    @property
    def webhook_secret(self) -> str:
        """What webhooks are signed with."""
        return (self.state / "hook").read_text()

    def log(self, name: str) -> str:
        """All that a process wrote."""
        return (self.state / f"{name}.log").read_text()

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Its log lines, each of which is an object; Celery's banner is none."""
        return [json.loads(line) for line in self.log(name).splitlines() if line.startswith("{")]


@contextmanager
def watched(receiver: Server, authority: Authority) -> Iterator[Watched]:
    """One with a worker, and a webhook to a receiver."""
    overheard = Overheard()
    try:
        with (
            collecting() as collector,
            tempfile.TemporaryDirectory(prefix="anex-watched-", dir="/var/tmp") as folder,
            Watched(Path(folder), collector, overheard, receiver.url("/hook")) as stack,
        ):
            start_worker(stack, receiver, authority)
            yield stack
    finally:
        overheard.close()
