"""One scripted engine for the tests of a module, and ways to ask it."""

import http.client
import json

import pytest

from tests.inference.scripted_server import scripted_server


class Asker:
    """Posts to one engine and reads whole answers or streams."""

    def __init__(self, engine):
        self.engine = engine

    def post(self, path, body, headers=None):
        """(status, body) of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.engine.port, timeout=20)
        try:
            connection.request("POST", path, json.dumps(body), headers or {})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.engine.port, timeout=20)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def chat(self, prompt, **more):
        """The body of a chat answer to one user message."""
        messages = more.pop("messages", [{"role": "user", "content": prompt}])
        status, body = self.post("/v1/chat/completions", {"messages": messages, **more})
        assert status == 200, body
        return body

    def stream(self, path, body):
        """The chunks of a streamed answer, which must end with [DONE]."""
        connection = http.client.HTTPConnection("127.0.0.1", self.engine.port, timeout=20)
        try:
            connection.request("POST", path, json.dumps({**body, "stream": True}))
            response = connection.getresponse()
            assert response.headers["Content-Type"].startswith("text/event-stream")
            frames = response.read().decode().strip().split("\n\n")
        finally:
            connection.close()
        assert frames[-1] == "data: [DONE]"
        return [json.loads(frame.removeprefix("data: ")) for frame in frames[:-1]]


@pytest.fixture(scope="module")
def ask():
    with scripted_server() as engine:
        yield Asker(engine)
