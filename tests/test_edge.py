"""The edge's rate limit (references 001 and 003, 429 and RateLimitError), counted in a real Valkey."""

import itertools
import json
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from anex.edge import RateLimit, client_address
from tests.jobs.api.test_reference_schemas import validator

pytestmark = pytest.mark.asyncio
ERROR = {"$ref": "#/components/schemas/RateLimitError"}
_hosts = itertools.count(int(uuid.uuid4()) % 2**20)


def someone() -> str:
    """An address nobody has had."""
    number = next(_hosts)
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


@dataclass
class Caller:
    """Requests of one client; `passed` of them reached the application."""

    address: str = field(default_factory=someone)
    key: str | bytes = field(default_factory=lambda: f"Bearer sk-{uuid.uuid4()}")
    passed: int = 0

    async def app(self, scope, receive, send) -> None:
        self.passed += 1

    async def send(self, limit: RateLimit, times: int = 1, path: str = "/batch/v1/jobs") -> dict:
        limit._app = self.app
        key = self.key if isinstance(self.key, bytes) else self.key.encode()
        headers = [(b"authorization", key)] if key else []
        scope = {"type": "http", "path": path, "headers": headers, "client": (self.address, 1)}
        sent: list[dict] = []

        async def send(message: dict) -> None:
            sent.append(message)

        for _ in range(times):
            await limit(scope, None, send)
        return {key: value for message in sent for key, value in message.items()}


@pytest_asyncio.fixture
async def edge(settings) -> AsyncIterator[Callable[[], RateLimit]]:
    """Makes edges, as every process has one; their connections are closed afterwards."""
    settings.ANEX_KEY_RATE, settings.ANEX_ADDRESS_RATE = "3 per hour", "5 per hour"
    made: list[RateLimit] = []

    def make() -> RateLimit:
        made.append(RateLimit(lambda *_: None))
        return made[-1]

    yield make
    for limit in made:
        await limit.rates.close()


@pytest.fixture
def limit(edge) -> RateLimit:
    return edge()


async def test_a_key_that_asks_too_often_is_refused_in_the_documented_form(limit):
    caller = Caller()
    answer = await caller.send(limit, times=4)
    assert (caller.passed, answer["status"]) == (3, 429)
    headers = dict(answer["headers"])
    assert 1 <= int(headers[b"retry-after"]) <= 3600
    assert headers[b"content-type"] == b"application/json"
    body = json.loads(answer["body"])
    validator(ERROR).validate(body)
    assert (body["error"]["code"], body["error"]["type"]) == ("rate_limit_exceeded", "rate_limit_error")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/openai/v1/models", "/realtime/v1/embeddings", "/v1/files"])
async def test_every_surface_is_refused_alike_and_openais_clients_learn_what_to_do(limit, path):
    answer = await Caller().send(limit, times=4, path=path)
    headers, told = dict(answer["headers"]), json.loads(answer["body"])["error"]
    assert (answer["status"], headers[b"content-type"]) == (429, b"application/json")
    assert int(headers[b"retry-after"]) >= 1
    assert headers[b"x-request-id"]
    assert (told["code"], told["type"]) == ("rate_limit_exceeded", "rate_limit_error")
    assert (told.get("retry"), told.get("charged")) == ((None, None) if "realtime" in path else ("same", False))


async def test_it_stands_in_front_of_every_surface():
    from anex.asgi import application

    assert isinstance(application._app.application_mapping["http"]._app, RateLimit)


async def test_two_processes_count_together(limit, edge):
    caller, other = Caller(), edge()
    await caller.send(limit, times=2)
    await limit.rates.share()
    await caller.send(other)
    await other.rates.share()
    await caller.send(other, times=2)
    assert caller.passed == 3


async def test_a_key_is_counted_wherever_it_calls_from_and_is_not_anothers(limit):
    key = f"Bearer sk-{uuid.uuid4()}"
    callers = [Caller(key=key) for _ in range(4)]
    for caller in callers:
        await caller.send(limit)
    assert [caller.passed for caller in callers] == [1, 1, 1, 0]
    impostor = Caller(key=f"{key[:20]}-guessed")
    await impostor.send(limit)
    assert impostor.passed == 1


async def test_a_key_is_one_key_however_its_header_is_written(limit):
    key = f"sk-{uuid.uuid4()}"
    spellings = (f"Bearer {key}", f"bearer {key}", f"  BEARER   {key} ", f"bEARER \x1c{key}\x85".encode("latin-1"))
    callers = [Caller(key=spelling) for spelling in spellings]
    for caller in callers:
        await caller.send(limit)
    assert [caller.passed for caller in callers] == [1, 1, 1, 0]


async def test_an_address_is_counted_whatever_keys_it_tries(limit):
    address = someone()
    callers = [
        Caller(address=address, key=key) for key in ("", "", *(f"Bearer guess-{uuid.uuid4()}" for _ in range(5)))
    ]
    for caller in callers:
        await caller.send(limit)
    assert sum(caller.passed for caller in callers) == 5


@pytest.mark.parametrize("path", ["/dashboard", "/storage/upload", "/admin/", "/healthz"])
async def test_pages_and_files_are_not_counted(limit, path):
    caller = Caller()
    await caller.send(limit, times=7, path=path)
    assert caller.passed == 7


@pytest.mark.parametrize(
    ("proxies", "forwarded", "client", "address"),
    [
        (0, "1.2.3.4", "9.9.9.9", "9.9.9.9"),
        (1, "", "9.9.9.9", "9.9.9.9"),
        (1, "1.2.3.4", "127.0.0.1", "1.2.3.4"),
        (1, "6.6.6.6, 1.2.3.4", "127.0.0.1", "1.2.3.4"),
        (2, "6.6.6.6, 1.2.3.4, 10.0.0.1", "127.0.0.1", "1.2.3.4"),
        (3, "1.2.3.4", "127.0.0.1", "1.2.3.4"),
        (1, "not an address", "127.0.0.1", "unknown"),
        (0, "", "2001:db8:1:2:aaaa:bbbb:cccc:dddd", "2001:db8:1:2::"),
        (0, "", "::ffff:1.2.3.4", "1.2.3.4"),
    ],
)
async def test_the_address_is_what_the_outermost_of_our_proxies_saw(settings, proxies, forwarded, client, address):
    settings.ANEX_TRUSTED_PROXIES = proxies
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    assert client_address({"headers": headers, "client": (client, 1)}) == address
