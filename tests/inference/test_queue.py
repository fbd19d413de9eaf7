"""What a model server tells of its queue."""

import asyncio

import pytest

from inference.backends import queue
from inference.backends.client import Client
from inference.backends.queue import Queue
from tests.inference.scripted_server import scripted_server
from tests.inference.test_client import http, server_at

TWO_ENGINES = b"""# HELP vllm:num_requests_waiting Number of requests waiting.
vllm:num_requests_running{engine="0",model_name="m"} 7.0
vllm:num_requests_running{engine="1",model_name="m"} 8.0
vllm:num_requests_waiting{engine="0",model_name="m"} 1e2
vllm:num_requests_waiting{engine="1",model_name="m"} 0.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 50
"""


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (TWO_ENGINES, Queue(15, 100)),
        (b"vllm:num_requests_running 3\n", Queue(3, 0)),
        (b"llamacpp:requests_processing 3\n", None),
        (b"", None),
    ],
)
def test_requests_are_added_up_over_the_engines_of_a_server(metrics, expected):
    assert queue.read(metrics) == expected


async def test_a_server_is_asked_beside_its_api():
    with scripted_server() as engine:
        async with Client() as client:
            assert await queue.look(client, engine.server()) == Queue(0, 0)


@pytest.mark.parametrize("answer", [http(404), http(500, TWO_ENGINES), b"220 mail\r\n"])
async def test_of_a_server_that_does_not_tell_nothing_is_known(answer):
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening, Client() as client:
        assert await queue.look(client, server_at(listening.sockets[0].getsockname()[1])) is None
