"""Which worker runs the rows of one model only, and what it cannot be started with."""

from types import SimpleNamespace
from typing import Any

import pytest
from celery.worker.control import Panel

from anex.core.errors import InvalidRequest
from jobs import tasks
from jobs.services.doorbell import RING


def worker(*queues: str) -> Any:
    return SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace(consume_from=queues))))


def test_queue_names_the_model() -> None:
    assert tasks.model_of({"inference.acme-chat"}) == "acme-chat"
    assert tasks.model_of({"batch"}) is None
    with pytest.raises(InvalidRequest, match="takes no other queue"):
        tasks.model_of({"batch", "inference.acme-chat"})


@pytest.mark.parametrize(
    ("queue", "options", "sentence"),
    [
        ("inference.no-such-model", "", "no-such-model"),
        ("inference.scripted", "", "give --weights"),
        ("inference.scripted", "--weights /w --address nonsense", "Give the server's address"),
        ("inference.scripted", "--weights /w --host 0.0.0.0", "needs a key"),
        ("inference.scripted", "--weights /w", "no vllm on this host's PATH"),
        ("inference.scripted", "--no-such-option", "2"),
    ],
)
def test_worker_that_cannot_start_its_server_ends(
    queue: str, options: str, sentence: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    settings.ANEX_ENGINE_OPTIONS = options
    with pytest.raises(SystemExit) as ended:
        tasks.start_work(instance=worker(queue))
    assert sentence in str(ended.value.code)
    assert tasks._engine is None


def test_ring_reaches_every_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[str] = []
    for name in ("_pump", "_deliverer"):
        monkeypatch.setattr(tasks, name, SimpleNamespace(ring=lambda name=name: rung.append(name)))
    Panel.data[RING](None)  # what a broadcast calls in each of them
    assert rung == ["_pump", "_deliverer"]
