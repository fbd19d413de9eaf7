"""Bodies that no well-meaning client sends: each is refused with a sentence, in JSON."""

import pytest

HALF_PAIR = b'"\\ud800"'


@pytest.mark.parametrize("path", ["inputs", "jobs"])
@pytest.mark.parametrize(
    "body",
    [
        b'{"format":%b}' % HALF_PAIR,
        b'{"format":"jsonl","data_residency":%b}' % HALF_PAIR,
        b'{"model":%b,"input_id":%b}' % (HALF_PAIR, HALF_PAIR),
        b'{"model":"scripted","temperature":' + b"9" * 400 + b"}",
        b'{"model":"scripted","temperature":' + b"9" * 5000 + b"}",
        b'{"model":"scripted","max_output_tokens":18446744073709551616}',
        b'{"format":NaN}',
        b'{"format":"\\u0000","model":"\\u0000"}',
        b"[" * 5000 + b"]" * 5000,
        b"\x1f\x8b\x08\x00",
        b"\xff\xfe{",
    ],
    ids=lambda body: repr(body[:30]),
)
def test_refused_with_a_sentence(api, path, body):
    api.raise_request_exception = False
    answer = api.generic("POST", f"/batch/v1/{path}", body, content_type="application/json")
    assert answer.status_code in (400, 422)
    assert answer.json()["detail"]


@pytest.mark.parametrize("path", ["inputs", "jobs"])
def test_a_body_beyond_a_mebibyte_is_too_large(api, path):
    body = b'{"model":"' + b"x" * 2_000_000 + b'"}'
    answer = api.generic("POST", f"/batch/v1/{path}", body, content_type="application/json")
    assert answer.status_code == 413
    assert "too large" in answer.json()["detail"]
