"""Answers on their way into Valkey: whole and as they were sent, or not at all."""

import asyncio
from typing import Any

import pytest

from realtime import kept, sse
from realtime.kept import Kept, Recorder


class Answers:
    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}

    async def put(self, source: str, answer: Kept, *, seconds: int) -> None:
        self.kept[source] = answer


@pytest.mark.parametrize("size", [9, 10, 20])
def test_answer_that_is_too_long_is_neither_kept_nor_held(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(kept, "MOST_BYTES", 10)
    answers, sent = Answers(), []
    recorder = Recorder(answers, "req:a", key_id="k", seconds=1)  # type: ignore[arg-type]

    async def send(event: dict[str, Any]) -> None:
        sent.append(event["body"])

    async def answer() -> None:
        record = recorder.recording(send)
        for piece in (sse.KEEP_ALIVE, *(b"x" for _ in range(size))):
            await record({"body": piece})
        await recorder.keep(b"y", charged_nano=3)

    asyncio.run(answer())
    assert sent == [sse.KEEP_ALIVE, *(b"x" for _ in range(size))]
    assert answers.kept == ({"req:a": Kept(b"x" * 9 + b"y", 3, "k")} if size == 9 else {})
    assert sum(map(len, recorder._pieces)) <= 10
