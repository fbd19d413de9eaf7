"""Two regions that were given one Valkey by mistake: no message of one reaches the other, and `doctor` says so."""

import runpy
from contextlib import closing, suppress
from queue import Empty
from typing import Any

import pytest
from celery import Celery
from django.conf import settings as configured
from redis import Redis

from anex.doctor import services
from anex.settings import base
from realtime import kept


def of_region(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("ANEX_REGION", name)
    return runpy.run_path(str(base.__file__))


def app(region: dict[str, Any]) -> Celery:
    made = Celery("anex", broker=configured.CELERY_BROKER_URL, set_as_current=False)
    made.conf.update(
        task_default_queue=region["CELERY_TASK_DEFAULT_QUEUE"],
        broker_transport_options=region["CELERY_BROKER_TRANSPORT_OPTIONS"],
    )
    return made


def taken(app: Celery) -> list[str]:
    """The tasks that a worker of the region would take."""
    found, name = [], app.conf.task_default_queue
    with app.connection() as connection, closing(connection.SimpleQueue(name)) as queue, suppress(Empty):
        while message := queue.get(block=False):
            found.append(message.headers["task"])
            message.ack()
    return found


def found_by_doctor(region: str, settings: Any) -> str:
    settings.ANEX_REGION = region
    [finding] = services.broker()
    return finding.state


def test_each_takes_its_own_messages_and_doctor_says_that_it_is_shared(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    # A database of this test alone.
    settings.CELERY_BROKER_URL = configured.CELERY_BROKER_URL.rpartition("/")[0] + "/9"
    regions = {name: of_region(name, monkeypatch) for name in ("world", "eu")}
    apps = {name: app(region) for name, region in regions.items()}
    with Redis.from_url(settings.CELERY_BROKER_URL) as valkey:
        valkey.flushdb()
        apps["eu"].send_task("sweep-of-eu")
        assert {name.decode()[:3] for name in valkey.scan_iter()} == {"eu:"}
        assert {name: found_by_doctor(name, settings) for name in apps} == {"world": "broken", "eu": "ok"}
        apps["world"].send_task("sweep-of-world")
        assert {name: found_by_doctor(name, settings) for name in apps} == {"world": "broken", "eu": "broken"}
        assert {name: taken(each) for name, each in apps.items()} == {name: [f"sweep-of-{name}"] for name in apps}
        valkey.flushdb()
    names = []
    for region in regions.values():
        settings.ANEX_VALKEY_PREFIX = region["ANEX_VALKEY_PREFIX"]
        names.append(kept._name("request"))
    assert names == ["anex-answer:request", "eu:anex-answer:request"]
