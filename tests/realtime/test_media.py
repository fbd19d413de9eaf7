"""Pictures and clips in requests: fetched once, checked against what they are, billed by what they are."""

import asyncio
import threading
from typing import Any

import pytest

from anex.core import safe_http
from inference import catalogue
from inference.media import fetching
from inference.media.parts import MediaPart, fetched
from inference.requests.profiles import V1
from realtime import media
from tests import https
from tests.inference.media import clips
from tests.realtime.served import Surface

PNG = clips.picture("png")


@pytest.fixture
def host(https_server: https.Server, https_rules: Any, monkeypatch: pytest.MonkeyPatch) -> https.Server:
    monkeypatch.setattr(safe_http, "PUBLIC", https_rules)
    monkeypatch.setattr(fetching, "RETRY_WAITS", (0.01, 0.01))
    https_server.answer("/picture.png", 200, PNG)
    return https_server


def ask(surface: Surface, *parts: Any, **body: Any) -> Any:
    content = [{"type": "text", "text": "hi"}, *parts]
    asked = {"model": "scripted-media", "messages": [{"role": "user", "content": content}], "max_tokens": 20} | body
    return surface.http.post("/v1/chat/completions", json=asked)


@pytest.mark.parametrize("stream", [False, True])
def test_picture_by_url_and_clip_inline_are_answered_and_billed_by_what_they_are(surface, host, stream) -> None:
    picture = clips.by_url("image", host.url("/picture.png"))
    clip = clips.input_audio("wav", clips.audio("wav", 2.0), duration_seconds=1)
    assert ask(surface, picture, picture, clip, stream=stream).status_code == 200
    assert [request.path for request in host.requests] == ["/picture.png"]
    (record,) = surface.settled()
    assert (record.images, record.clips) == (2, 1)
    assert record.audio_ms == pytest.approx(2000, abs=100)
    fees = 2 * 200_000 + 800_000
    assert record.amount_nano > fees


def test_what_cannot_be_had_or_read_is_refused_by_its_place(surface: Surface, host: https.Server) -> None:
    host.answer("/moved.png", 302, b"")
    host.answer("/text.png", 200, b"no picture")
    long = clips.by_url("video", clips.data_uri("mp4", clips.video("mp4", frames=65, fps=1)))
    parts = [
        clips.by_url("image", host.url("/moved.png")),
        clips.by_url("image", host.url("/text.png")),
        clips.by_url("image", "https://127.0.0.1:1/picture.png"),
        long,
    ]
    for part in parts:
        refused = ask(surface, part)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_request")
        assert "messages[0].content[1]" in refused.json()["error"]["message"]
    assert {(one.status, one.amount_nano) for one in surface.settled(len(parts))} == {("refused", 0)}


def test_content_arrays_become_one_vector_each(surface: Surface, host: https.Server) -> None:
    picture = {"type": "image_url", "image_url": {"url": host.url("/picture.png")}}
    inputs = [[{"type": "text", "text": "a"}], [{"type": "text", "text": "b"}, picture], [picture]]
    answer = surface.http.post("/v1/embeddings", json={"model": "scripted-embed", "input": inputs})
    assert [entry["index"] for entry in answer.json()["data"]] == [0, 1, 2]
    (record,) = surface.settled()
    assert record.images == 2
    assert record.input_tokens == answer.json()["usage"]["prompt_tokens"]


def test_media_that_is_there_waits_for_none_that_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow hosts keep threads for minutes: as many requests as would fill those that read keep nobody up."""
    given_up = threading.Event()
    monkeypatch.setattr(media.Fetch, "all", lambda _, parts: given_up.wait(20) and parts)
    model = catalogue.get("scripted-media")
    assert model
    slow = MediaPart(at="a", type="image_url", modality="image", format=None, url="https://source.test/a.png")
    inline = fetched(slow, PNG, format="png")

    async def scene() -> None:
        waiting = [asyncio.create_task(media.prepare((slow,), model=model, profile=V1)) for _ in range(32)]
        await asyncio.sleep(0)
        assert (await media.prepare((inline,), model=model, profile=V1)).items.images == 1
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        given_up.set()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(scene())
