"""`/live/jobs?job=…`: a page names the jobs it shows, and is told the id of each that changed. Nothing else is sent.

A page that is not let in, or whose connection breaks, goes on by asking (static/console/live.js).
"""

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from channels.generic.websocket import AsyncJsonWebsocketConsumer
from channels.routing import URLRouter
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, parse_cookie
from django.urls import re_path

from accounts import access
from accounts.models import User
from accounts.permissions import Action
from anex.console.live.watch import WATCH
from anex.core.errors import Unavailable
from anex.core.threads import ANSWER_S, Threads
from jobs.selectors import changes

MOST_JOBS: Final = 60
MOST_SOCKETS: Final = 1000
# Of one person, so that nobody takes those of all others.
MOST_OF_ONE: Final = 50
# Who may see what is asked anew as often as this: the page connects again.
SECONDS: Final = 600
UNKNOWN, BUSY, AGAIN, SPOKE = 4404, 4429, 4408, 4400

_threads: Final = Threads(4, "sockets", patience_s=ANSWER_S)
_open: Final[set["JobsSocket"]] = set()


class JobsSocket(AsyncJsonWebsocketConsumer):  # type: ignore[misc]
    """One page."""

    _ids: tuple[UUID, ...] = ()
    _person: int | None = None
    _telling: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Let a member in who names jobs of the organization they act for."""
        self._changed, self._ring = set[UUID](), asyncio.Event()
        ids = _asked(self.scope["query_string"])
        if refusal := await self._refusal(ids):
            await self.close(refusal)
            return
        await self.accept()
        _open.add(self)
        self._ids = ids
        self._telling = asyncio.create_task(self._tell())
        WATCH.join(ids, self._note)

    async def disconnect(self, code: int) -> None:
        """Listen no more."""
        _open.discard(self)
        WATCH.leave(self._ids, self._note)
        if self._telling is not None:
            self._telling.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **_: Any) -> None:
        """A page has nothing to say: what speaks is none of ours."""
        await self.close(SPOKE)

    async def _refusal(self, ids: tuple[UUID, ...]) -> int | None:
        if len(_open) >= MOST_SOCKETS:
            return BUSY
        try:
            if ids and _is_same_origin(self.scope):
                self._person = await _threads.run(_who_sees, self.scope, ids)
        except Unavailable:
            return BUSY
        if self._person is None:
            return UNKNOWN
        of_one = sum(other._person == self._person for other in _open)
        return BUSY if of_one >= MOST_OF_ONE else None

    def _note(self, job_id: UUID) -> None:
        self._changed.add(job_id)
        self._ring.set()

    async def _tell(self) -> None:
        """A page that reads slowly is told of a job once, however often it changed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS):
                while await self._ring.wait():
                    self._ring.clear()
                    while self._changed:
                        await self.send_json({"job": str(self._changed.pop())})
        await self.close(AGAIN)


class _Refused(AsyncJsonWebsocketConsumer):  # type: ignore[misc]
    async def connect(self) -> None:
        await self.close(UNKNOWN)


def _is_same_origin(scope: dict[str, Any]) -> bool:
    """Whether one of our pages asks: a page of another origin has a person's cookie and not their consent."""
    headers = dict(scope["headers"])
    origin, host = (str(headers.get(name, b""), "latin-1") for name in (b"origin", b"host"))
    try:
        return bool(host) and urlsplit(origin).netloc == host
    except ValueError:
        return False


def _asked(query: bytes) -> tuple[UUID, ...]:
    """The jobs that the query names; none where it names none, too many or what is no id."""
    named = parse_qs(query.decode("latin-1")).get("job", [])
    try:
        ids = {UUID(name) for name in named[: MOST_JOBS + 1]}
    except ValueError:
        return ()
    return tuple(ids) if len(ids) <= MOST_JOBS else ()


def _who_sees(scope: dict[str, Any], job_ids: tuple[UUID, ...]) -> int | None:
    """Who asks, where they may see these jobs.

    In a thread of its own, unlike the middleware of channels, which has all sockets wait for one.
    """
    cookie = dict(scope["headers"]).get(b"cookie", b"").decode("latin-1")
    request = HttpRequest()
    session_key = parse_cookie(cookie).get(settings.SESSION_COOKIE_NAME)
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = request.user = get_user(request)
    if not isinstance(user, User):
        return None
    member = access.acting(request)
    sees = member is not None and member.may(Action.VIEW) and changes.own(member.organization.pk, job_ids)
    return user.pk if sees else None


application: Final = URLRouter(
    [
        re_path(r"^live/jobs$", cast(Any, JobsSocket.as_asgi())),
        re_path(r"", cast(Any, _Refused.as_asgi())),
    ]
)
