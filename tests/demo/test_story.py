"""The demo's job against a small API of the reference's shape: what is sent, what a person reads."""

import io
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from rich.console import Console

from anex.demo import story
from anex.demo.client import DemoError
from anex.demo.rows import Row
from anex.demo.screen import Screen
from anex.demo.story import Story
from tests.demo import fake_api

ROWS = [Row("aiohttp", "aiohttp: HTTP for asyncio"), Row("click", "click: Command lines")]
Serve = Callable[[web.Application], Awaitable[str]]


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
async def serve(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(story, "_POLL_S", 0.0)
    servers = []

    async def start(app: web.Application) -> str:
        servers.append(TestServer(app))
        await servers[-1].start_server()
        return str(servers[-1].make_url("")).rstrip("/")

    yield start
    for server in servers:
        await server.close()


def tell(url: str, output: io.StringIO, *, key: str = fake_api.KEY, terminal: bool = False) -> Story:
    console = Console(file=output, width=120, force_terminal=terminal, color_system=None)
    models = {"model": "smollm2-135m-instruct", "embedder": "minilm-l6-v2", "decider": "minilm-decide"}
    return Story(url=url, key=key, **models, screen=Screen(console))


async def test_the_job_goes_from_upload_to_the_bill(serve: Serve, output: io.StringIO) -> None:
    app = fake_api.application()
    assert await tell(await serve(app), output).run(ROWS) == "0f7d"

    sent = app[fake_api.UPLOADED]
    assert [row["custom_id"] for row in sent] == ["aiohttp", "click"] * 3
    assert {row["url"] for row in sent[:2]} == {"/v1/chat/completions"}
    assert {row["url"] for row in sent[2:]} == {"/v1/embeddings", "/v1/systemone"}
    told = " ".join(output.getvalue().split())
    assert "quote $0.03 at the most: 2,817 tokens in, up to 2,220 tokens out" in told
    assert "0/2 rows" in told
    assert "2/2 rows" in told
    assert "aiohttp It answers HTTP [requests]." in told
    assert "click The model gave no answer." in told
    assert "2 lines downloaded, 1 with an error" in told
    assert "quoted $0.03 charged $0.01, $0.02 of the hold released" in told
    assert "embedded 3 vectors of 2 numbers, closest are aiohttp and yarl (0.80), $0.01" in told
    assert "decided what each is about: 2 web, 1 development, $0.01" in told


async def test_a_terminal_gets_a_progress_bar(serve: Serve, output: io.StringIO) -> None:
    await tell(await serve(fake_api.application()), output, terminal=True).run(ROWS)
    assert "2/2 rows" in output.getvalue()
    assert "━" in output.getvalue()


@pytest.mark.parametrize("ending", ["failed", "cancelled"])
async def test_a_job_that_is_not_done_is_a_sentence(serve: Serve, output: io.StringIO, ending: str) -> None:
    with pytest.raises(DemoError, match=rf"The job ended as {ending}: the model went away\."):
        await tell(await serve(fake_api.application(ending)), output).run(ROWS)


async def test_a_refused_call_is_a_sentence_with_the_servers_words(serve: Serve, output: io.StringIO) -> None:
    with pytest.raises(DemoError, match=r"POST /inputs was answered with status 401: .*invalid or no longer active"):
        await tell(await serve(fake_api.application()), output, key="sk-wrong").run(ROWS)


async def test_an_api_that_does_not_answer_is_a_sentence(output: io.StringIO) -> None:
    with pytest.raises(DemoError, match=r"The API at http://127\.0\.0\.1:9 did not answer"):
        await tell("http://127.0.0.1:9", output).run(ROWS)


async def test_a_job_that_stands_still_is_a_sentence(
    serve: Serve, output: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story, "_STALLED_S", -1.0)
    app = fake_api.application()
    app[fake_api.STEPS]["0f7d"][:] = [{"status": "estimating"}]
    with pytest.raises(DemoError, match="The job does not move on from estimating"):
        await tell(await serve(app), output).run(ROWS)
