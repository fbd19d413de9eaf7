"""`manage.py doctor`: what is well, what is not, and what to do about it."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core.management import call_command
from django.db import OperationalError, connection

from accounts.models import Organization
from anex.core import clock, swept
from anex.core.actors import system
from anex.doctor import models, services, setup
from inference.backends import registry
from jobs.models import Worker
from tests.console.scenes import endpoint
from tests.factories import grant_credits, make_organization, make_user
from tests.jobs.api import stages
from tests.otlp import collecting


def examined(status: int) -> dict[str, list[dict[str, str]]]:
    out = StringIO()
    try:
        call_command("doctor", "--json", stdout=out)
        ended = 0
    except SystemExit as end:
        ended = int(end.code or 0)
    assert ended == status, out.getvalue()
    found: dict[str, list[dict[str, str]]] = {}
    for each in json.loads(out.getvalue()):
        assert (each["state"] == "ok") != bool(each["remedy"])
        found.setdefault(each["about"], []).append(each)
    return found


@pytest.fixture
def acme(db: None) -> Organization:
    organization = make_organization("Acme")
    grant_credits(organization)
    return organization


@pytest.fixture
def scripted(db: None, settings: pytest.FixtureRequest, tmp_path: Path, unused_tcp_port: int) -> str:
    settings.ANEX_STORAGE_DIR = tmp_path  # type: ignore[attr-defined]
    url = f"http://127.0.0.1:{unused_tcp_port}/v1"
    registry.configure(model_id="scripted", served_name="scripted", base_url=url, actor=system("test"))
    now = clock.now()
    swept.record(now)
    Worker.objects.create(name="w", region="world", started_at=now, heartbeat_at=now)
    return url


def test_what_works_is_well_and_a_server_nobody_answers_at_is_named(scripted: str, tmp_path: Path) -> None:
    found = examined(1)
    well = ("database", "clock", "migrations", "broker", "store", "disk", "mail", "secret key", "workers", "scheduler")
    assert {about: [each["state"] for each in found[about]] for about in well} == {about: ["ok"] for about in well}
    [server] = found["model servers"]
    assert server["told"] == f"scripted at {scripted} is ill"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_models_without_catalogue_or_key_and_missing_workers_are_told(
    db: None, tmp_path: Path, settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ANEX_STORAGE_DIR = tmp_path / "objects"
    (tmp_path / "key").write_text("sk-of-a-server")
    monkeypatch.setenv("KEY_IN_A_FILE_FILE", str(tmp_path / "key"))
    for model_id, credential in (("unheard-of", ""), ("scripted", "NO_SUCH_KEY"), ("filed", "KEY_IN_A_FILE")):
        url = f"http://127.0.0.1:9/{model_id}/v1"
        names = {"served_name": "m", "credential_env": credential}
        registry.configure(model_id=model_id, base_url=url, actor=system("test"), **names)
    found = examined(1)
    assert "celery" in found["workers"][0]["remedy"]
    assert (found["scheduler"][0]["state"], found["scheduler"][0]["told"]) == ("broken", "no sweep ever ran")
    assert any("NO_SUCH_KEY" in each["remedy"] for each in found["model servers"])
    assert [each for each in found["model servers"] if "KEY_IN_A_FILE" in each["remedy"]] == []
    assert any("unheard-of" in each["told"] and each["state"] == "broken" for each in found["prices"])


def test_services_that_are_away_are_broken_and_hide_no_other(
    settings, tmp_path: Path, unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    settings.ANEX_STORAGE_DIR = tmp_path / "file"
    settings.CELERY_BROKER_URL = f"redis://:s3cret@127.0.0.1:{unused_tcp_port}/0"
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", unused_tcp_port
    found = [*services.broker(), *services.store(), *setup.e_mail()]
    assert [(each.about, each.state) for each in found] == [(a, "broken") for a in ("broker", "store", "mail")]
    assert "Not a directory" in found[1].told
    assert "s3cret" not in repr(found)


def test_root_leaves_no_files_in_the_folder_of_another_user(
    settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ANEX_STORAGE_DIR = tmp_path
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(Path, "stat", lambda self, **_: os.stat_result((0o40755, 0, 0, 1, 999, *[0] * 5)))
    assert [(each.state, each.remedy) for each in services.store()] == [
        ("warning", "Run this as the user of the processes.")
    ]
    assert list(Path(tmp_path).iterdir()) == []


def test_postgres_own_words_are_told_and_no_password(unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        try:
            psycopg.connect(f"postgresql://ada:s3cret@127.0.0.1:{unused_tcp_port}/anex")
        except psycopg.Error as error:
            raise OperationalError(str(error)) from error

    monkeypatch.setattr(services.connection, "cursor", refuse)
    [found] = services.database()
    assert "Connection refused" in found.told
    assert "s3cret" not in repr(found)


@pytest.mark.django_db
def test_a_secret_key_that_opens_nothing_is_broken(acme: Organization, settings) -> None:
    endpoint(acme)
    TOTP.activate(make_user("ada"), generate_totp_secret())
    assert list(setup.sealed()) == []
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another" * 10
    assert [(each.about, each.state) for each in setup.sealed()] == [("secret key", "broken")]
    settings.SECRET_KEY_FALLBACKS = [former]
    assert list(setup.sealed()) == []


@pytest.mark.django_db
def test_a_model_server_that_refuses_the_key_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    with locked("right") as url:
        monkeypatch.setenv("RIGHT", "right")
        monkeypatch.setenv("WRONG", "wrong")
        for model_id, name in (("scripted", ""), ("minilm-l6-v2", "WRONG"), ("minilm-decide", "RIGHT")):
            names = {"served_name": "m", "credential_env": name}
            registry.configure(model_id=model_id, base_url=url, actor=system("test"), **names)
        found = {
            each.told.removeprefix(each.told.split()[0] + f" at {url} "): each.state for each in models.model_servers()
        }
    assert found == {
        "is well and refuses requests without a key": "broken",
        "is well and refuses the key it is sent": "broken",
        "is well": "ok",
    }


@contextmanager
def locked(key: str) -> Iterator[str]:
    """A model server whose `/health` is open and whose other paths want a key, as vLLM's and llama.cpp's do."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(200)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(400 if self.headers["Authorization"] == f"Bearer {key}" else 401)

        def answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def test_a_server_that_notices_late_that_a_host_is_gone_is_told() -> None:
    assert [list(services.locks(seconds)) for seconds in (0, 30)] == [[], []]
    (found,) = services.locks(7_875)
    assert (found.state, "131 minutes" in found.told, "tcp_keepalives_idle" in found.remedy) == ("warning", True, True)


def test_a_collector_that_is_named_and_away_is_told(unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(setup.traces()) == []
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{unused_tcp_port}")
    assert [each.state for each in setup.traces()] == ["warning"]
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.port}")
        assert [each.state for each in setup.traces()] == ["ok"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert [each.state for each in setup.traces()] == ["broken"]


@pytest.mark.django_db
def test_tables_that_are_behind_are_broken() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM django_migrations WHERE id = (SELECT max(id) FROM django_migrations WHERE app = 'jobs')"
        )
    told = [each for each in services.database() if each.about == "migrations"]
    assert (told[0].state, told[0].remedy) == ("broken", "Run: python manage.py migrate")


def test_a_scheduler_that_has_stopped_and_jobs_without_a_server_are_broken(acme: Organization) -> None:
    swept.record(clock.now() - timedelta(minutes=10))
    [scheduler] = models.scheduler()
    assert (scheduler.state, scheduler.told) == ("broken", "the last sweep ran 10 minutes ago")
    assert "beat" in scheduler.remedy
    job = stages.running(acme)
    [waiting] = models.waiting_jobs()
    assert (waiting.about, waiting.state) == ("jobs", "broken")
    assert "backends set" in waiting.remedy
    url = "http://127.0.0.1:9/v1"
    registry.configure(model_id=job.model_id, served_name="s", base_url=url, actor=system("test"))
    assert "broken" not in {each.state for each in models.waiting_jobs()}


def test_an_address_that_is_not_answered_to_is_broken(settings) -> None:
    settings.ALLOWED_HOSTS, settings.ANEX_PUBLIC_URL = ["anex.example"], "https://other.example"
    assert [each.remedy for each in setup.hosts()] == ["Add it to ALLOWED_HOSTS."]


@pytest.mark.parametrize(
    ("region", "other", "is_well"),
    [
        ("world", "", True),
        ("world", "https://api-eu.anex.example", True),
        ("world", "https://anex.example/", False),
        ("eu", "", False),
    ],
)
def test_the_other_region_has_an_address_of_its_own(settings, region: str, other: str, is_well: bool) -> None:
    settings.ALLOWED_HOSTS, settings.ANEX_PUBLIC_URL = ["anex.example"], "https://anex.example"
    settings.ANEX_REGION, settings.ANEX_OTHER_REGION_URL = region, other
    assert {each.state for each in setup.hosts()} == ({"ok"} if is_well else {"ok", "broken"})
