"""How large, deep and many a request's parts may be, on every surface: refused in its words, and at once."""

import json
import time
from http import HTTPStatus

import pytest

from tests.hostile.attacks import Attack
from tests.hostile.bodies import FORM, JSON, MULTIPART, part

DETAIL = ("/batch/v1/jobs", "/batch/v1/inputs")
OPENAI = ("/v1/batches", "/v1/uploads")
REALTIME = (
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/systemone",
    "/openai/v1/chat/completions",
    "/openai/v1/embeddings",
)
NATIVE = ("/realtime/v1/embeddings", "/realtime/v1/systemone")
PAGES = ("/keys/new", "/webhooks/new", "/jobs/new", "/accounts/login/", "/admin/accounts/plan/new/")
DEEP = b'{"model": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
NUMBER = b'{"model": "scripted", "max_tokens": ' + b"9" * 5000 + b"}"
MANY = json.dumps({"model": "scripted", "input": [[]] * 700_000}).encode()
BODIES = {"deep": DEEP, "number": NUMBER, "many": MANY}
FIELDS = "&".join(f"f{number}=1" for number in range(1001)).encode()
PARTS = b"".join(part(f"f{number}", b"1") for number in range(1001)) + b"--b--\r\n"
FILES = b"".join(part("file", b"1", '; filename="x"') for _ in range(101)) + b"--b--\r\n"
REFUSED = {400, 413, 422}


def ask(sender, path, kind, body, *more):
    began = time.monotonic()
    answer = sender.send(Attack("POST", path, (("Content-Type", kind), *more), body))
    assert time.monotonic() - began < 10, path
    return answer


def check_words(path: str, content: bytes) -> None:
    told = json.loads(content)
    if path in DETAIL + NATIVE:
        assert isinstance(told["detail"], str), path
    else:
        assert isinstance(told["error"]["message"], str), path


@pytest.mark.parametrize("what", BODIES)
def test_json_that_is_deep_or_has_endless_numbers_or_too_much_in_it_is_refused(sender, lines, what):
    for path in DETAIL + OPENAI + REALTIME + NATIVE:
        answer = ask(sender, path, JSON, BODIES[what])
        assert answer.status in REFUSED, (path, answer)
        check_words(path, answer.content)
    assert ask(sender, "/billing/webhooks/local", JSON, BODIES[what]).status in REFUSED
    assert not lines.faults


@pytest.mark.parametrize(("kind", "body"), [(FORM, FIELDS), (MULTIPART, PARTS), (MULTIPART, FILES)])
def test_forms_of_too_many_fields_or_parts_are_refused(sender, lines, kind, body):
    for path in PAGES:
        assert ask(sender, path, kind, body).status == HTTPStatus.BAD_REQUEST, path
    for path in ("/v1/files", "/storage/upload"):
        assert 400 <= ask(sender, path, kind, body).status < 500, path
    # Whoever sends such a thing leaves a line, and no traceback.
    assert not lines.faults
    assert not any("Traceback" in line for line in lines.written)


def test_heads_and_urls_beyond_measure_are_refused_everywhere(sender):
    for path in (*DETAIL, *OPENAI, *REALTIME, *NATIVE, *PAGES, "/v1/files", "/storage/upload", "/healthz", "/docs"):
        assert sender.send(Attack("GET", f"{path}?{'a' * 9000}")).status == HTTPStatus.REQUEST_URI_TOO_LONG, path
        headers = tuple((f"X-Header-{number}", "y") for number in range(250))
        answer = sender.send(Attack("GET", path, headers))
        assert answer.status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, path
        assert sender.send(Attack("GET", path, (("X-Long", "y" * 70_000),))).status == answer.status, path
