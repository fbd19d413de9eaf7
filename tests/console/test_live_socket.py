"""The socket that tells a page which of its jobs moved: who is let in, what is told, and that looking costs little."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.db import connections
from django.test import Client

from anex.console.live import socket, watch
from anex.console.live.watch import WATCH, Watch
from jobs.models import Chunk, Job, Part
from jobs.services import pauses
from tests.console import scenes
from tests.factories import actor_of, add_member, make_organization, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
async def quick(monkeypatch):
    monkeypatch.setattr(WATCH, "every_s", 0.01)
    yield
    # A look that is under way ends before the tables are emptied.
    await WATCH._threads.run(int)
    await sync_to_async(connections.close_all)()


def open_socket(client: Client | None, *jobs: Any, origin: str = "http://testserver") -> WebsocketCommunicator:
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items()) if client else ""
    headers = [(b"origin", origin.encode()), (b"host", b"testserver"), (b"cookie", cookies.encode())]
    query = "&".join(f"job={getattr(job, 'pk', job)}" for job in jobs)
    return WebsocketCommunicator(socket.application, f"/live/jobs?{query}", headers)


@pytest.fixture
async def pages() -> AsyncIterator[list[WebsocketCommunicator]]:
    opened: list[WebsocketCommunicator] = []
    yield opened
    for page in opened:
        await page.disconnect()


def a_part(job: Job) -> None:
    chunk = Chunk.objects.get(job=job, kind=Chunk.Kind.ROWS)
    part = Part.objects.filter(chunk=chunk).values().get()
    Part.objects.create(**(part | {"id": None, "key": "tests/next"}))


async def test_a_page_is_told_of_its_jobs_and_of_no_other(ada, acme, pages):
    job, other = await sync_to_async(scenes.running)(acme), await sync_to_async(scenes.running)(acme)
    page = open_socket(ada, job)
    pages.append(page)
    assert (await page.connect())[0]
    await asyncio.sleep(0.05)
    await sync_to_async(a_part)(other)
    await sync_to_async(a_part)(job)
    assert await page.receive_json_from(5) == {"job": str(job.pk)}
    ada_herself = actor_of(await sync_to_async(make_user)("ada"))
    await sync_to_async(pauses.pause)(organization_id=acme.pk, job_id=job.pk, actor=ada_herself)
    assert await page.receive_json_from(5) == {"job": str(job.pk)}
    assert await page.receive_nothing(0.1)


async def test_strangers_foreigners_and_other_origins_are_not_let_in(ada, acme):
    def scene() -> tuple[Job, Job, Client]:
        bob = Client()
        bob.force_login(add_member(acme, "bob"))
        return scenes.running(acme), scenes.running(make_organization("Globex")), bob

    mine, foreign, bob = await sync_to_async(scene)()
    refused = [
        open_socket(None, mine),
        open_socket(ada, foreign),
        open_socket(ada, mine, foreign),
        open_socket(ada, uuid4()),
        open_socket(ada, "nothing"),
        open_socket(ada),
        open_socket(ada, *(uuid4() for _ in range(socket.MOST_JOBS + 1))),
        *(open_socket(ada, mine, origin=origin) for origin in ("https://elsewhere.example", "http://[", "null", "")),
    ]
    for page in refused:
        assert not (await page.connect())[0]
    welcome = open_socket(bob, mine)
    assert (await welcome.connect())[0]
    await welcome.disconnect()
    assert not WATCH._listeners


async def test_another_path_and_one_page_too_many_are_closed(ada, acme, monkeypatch):
    job = await sync_to_async(scenes.running)(acme)
    elsewhere = open_socket(ada, job)
    elsewhere.scope["path"] = "/live/else"
    assert not (await elsewhere.connect())[0]
    monkeypatch.setattr(socket, "MOST_SOCKETS", 0)
    assert await open_socket(ada, job).connect() == (False, socket.BUSY)


async def test_one_person_does_not_take_the_sockets_of_all(ada, acme, pages, monkeypatch):
    job = await sync_to_async(scenes.running)(acme)
    bob = Client()
    await sync_to_async(lambda: bob.force_login(add_member(acme, "bob")))()
    monkeypatch.setattr(socket, "MOST_OF_ONE", 2)
    pages += [open_socket(ada, job), open_socket(ada, job), open_socket(bob, job)]
    assert [(await page.connect())[0] for page in pages] == [True, True, True]
    assert await open_socket(ada, job).connect() == (False, socket.BUSY)


@pytest.mark.parametrize("said", [{"text": "{"}, {"text": "[]"}, {"bytes": b"\xff"}])
async def test_who_speaks_is_closed(ada, acme, pages, said):
    page = open_socket(ada, await sync_to_async(scenes.running)(acme))
    pages.append(page)
    await page.connect()
    await page.send_input({"type": "websocket.receive"} | said)
    assert await page.receive_output(5) == {"type": "websocket.close", "code": socket.SPOKE}


async def test_a_page_is_let_in_anew_after_a_while(ada, acme, monkeypatch):
    monkeypatch.setattr(socket, "SECONDS", 0.02)
    page = open_socket(ada, await sync_to_async(scenes.running)(acme))
    await page.connect()
    assert await page.receive_output(5) == {"type": "websocket.close", "code": socket.AGAIN}


async def test_many_pages_are_one_look(ada, acme, django_assert_num_queries):
    def look(count: int) -> None:
        jobs = [scenes.running(acme) for _ in range(count)]
        ids = [job.pk for job in jobs]
        seen, _ = watch._compare(None, ids)
        with django_assert_num_queries(2):
            assert watch._compare(seen, ids)[1] == []
        a_part(jobs[0])
        assert watch._compare(seen, ids)[1] == [ids[0]]

    await sync_to_async(look)(1)
    await sync_to_async(look)(12)


async def test_the_look_outlives_a_database_that_is_away(monkeypatch):
    looking, told, tries = Watch(every_s=0.01), list[Any](), list[int]()
    job_id = uuid4()

    async def run(*_: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise socket.Unavailable("away")
        return None, [job_id]

    monkeypatch.setattr(looking._threads, "run", run)
    looking.join([job_id], told.append)
    while not told:
        await asyncio.sleep(0.01)
    looking.leave([job_id], told.append)
    assert looking._looking is None


HOSTILE_SOCKETS = [
    {"path": "/live/jobs?job=%00"},
    {"path": "/live/jobs?job=" + "&job=".join(str(uuid4()) for _ in range(200))},
    {"path": "/live/jobs?" + "&".join("a" for _ in range(2000))},
    {"path": "/live/jobs?job=%ff%fe&%%%=&job[]=1"},
    {"path": "/live/jobs/../../admin/"},
    {"path": "/live/nothing"},
    {"path": f"/live/jobs?job={uuid4()}", "cookie": b'anex_session="\\000abc"'},
    {"path": f"/live/jobs?job={uuid4()}", "cookie": b"anex_session=\xff\xfe; ;;=;"},
    {"path": f"/live/jobs?job={uuid4()}", "cookie": b"anex_session=" + b"a" * 5000},
    {"path": f"/live/jobs?job={uuid4()}", "origin": b"http://[testserver"},
    {"path": f"/live/jobs?job={uuid4()}", "origin": b"http://testserver@evil.example"},
    {"path": f"/live/jobs?job={uuid4()}", "origin": b"\xff"},
]


@pytest.mark.parametrize("told", HOSTILE_SOCKETS, ids=range(len(HOSTILE_SOCKETS)))
async def test_a_socket_that_makes_no_sense_is_closed_and_nothing_breaks(told):
    headers = {b"origin": b"http://testserver", b"host": b"testserver"}
    headers |= {name.encode(): value for name, value in told.items() if name != "path"}
    let_in, code = await WebsocketCommunicator(socket.application, told["path"], list(headers.items())).connect()
    assert (let_in, code) == (False, socket.UNKNOWN)
