"""What opens something stays where it was given: no refusal, no line of the log and no e-mail repeats it."""

import json

import pytest
from django.core import mail
from django.db import OperationalError

from jobs.services import submissions
from tests.hostile.attacks import Attack
from tests.hostile.bodies import FORM, JSON
from tests.realtime.served import until

MARK = "m4rk-of-a-secret"
USER = f"https://ada:{MARK}@files.example/rows.jsonl"
SIGNED = f"https://127.0.0.1/rows.jsonl?X-Amz-Signature={MARK}&sig={MARK}&token={MARK}"
KEY = f"sk-{'a' * 12}{'m4rk' * 10}"
PICTURE = {"type": "image_url", "image_url": {"url": USER}}
CALLS: list[tuple[str, object]] = [
    *(("/batch/v1/inputs", {"format": "jsonl", "source_url": url}) for url in (USER, SIGNED)),
    ("/batch/v1/inputs", {"format": "jsonl", "source_url": "https://a.example/", "callback_url": USER}),
    ("/batch/v1/jobs", {"model": "scripted", "input_s3_uri": USER}),
    ("/batch/v1/jobs", {"model": MARK, "input_id": MARK}),
    ("/v1/batches", {"input_file_id": MARK, "endpoint": USER, "completion_window": "24h"}),
    ("/v1/chat/completions", {"model": "scripted-media", "messages": [{"role": "user", "content": [PICTURE]}]}),
    ("/v1/embeddings", {"model": "scripted-embed", "input": [[PICTURE]]}),
    ("/openai/v1/chat/completions", {"model": "scripted", "messages": [{"role": USER, "content": MARK}]}),
    ("/realtime/v1/systemone", {"model": "scripted-decide", "state": MARK, "questions": {"a": {"type": MARK}}}),
]
FORMS = [
    ("/webhooks/new", f"url={USER}"),
    ("/webhooks/new", f"url={SIGNED}"),
    ("/jobs/new", f"model=scripted&source_url={USER}"),
    ("/accounts/login/", f"login=ada@example.com&password={MARK}"),
    ("/accounts/password/change/", f"oldpassword={MARK}&password1={MARK}&password2=x"),
    ("/accounts/reauthenticate/", f"password={MARK}"),
    ("/billing/webhooks/local", f"secret={MARK}"),
]
# A word that is no secret is told back where it was wrong, and a form keeps what a person wrote into it.
OWN_WORDS = ("/batch/v1/jobs", "/v1/batches", "/realtime/v1/systemone")
OWN_FORMS = ("/webhooks/new", "/jobs/new")


def requests():
    for path, body in CALLS:
        yield Attack("POST", path, (("Content-Type", JSON),), json.dumps(body).encode())
    for path, body in FORMS:
        yield Attack("POST", path, (("Content-Type", FORM),), body.encode())
    for path in ("/batch/v1/jobs", "/v1/models", "/v1/chat/completions", "/openai/v1/usage", "/v1/files"):
        for header in (f"Bearer {KEY}", f"Basic {KEY}", f"{KEY}", f"Bearer {MARK}"):
            yield Attack("POST", path, (("Authorization", header), ("Content-Type", JSON)), b"{}")
    yield Attack("GET", "/metrics", (("Authorization", f"Bearer {MARK}"),))
    yield Attack("GET", f"/accounts/password/reset/key/1-{MARK}/")
    yield Attack("GET", f"/invitations/{MARK * 3}")
    yield Attack("GET", f"/storage/object/a?X-Amz-Signature={MARK}&X-Amz-Expires=9")
    yield Attack("GET", f"/v1/uploads/a/b.png?signature={MARK}")
    yield Attack("GET", f"/batch/v1/jobs/{KEY}/{'x' * 130}{KEY}")
    yield Attack("POST", "/v1/files", (("Content-Type", "multipart/form-data; boundary=b"),), MARK.encode())


def test_no_refusal_and_no_line_repeats_what_opens_something(place, sender, lines):
    asked = 0
    for attack in requests():
        answer = sender.send(attack)
        assert answer.status < 500 or attack.target.startswith("/v1/"), attack
        told = answer.content.decode(errors="replace")
        assert answer.status, attack
        asked += 1
        assert "m4rkm4rk" not in told, attack
        if not attack.target.startswith(OWN_FORMS):
            assert f":{MARK}@" not in told, attack
            assert MARK not in told or attack.target.startswith(OWN_WORDS), attack
    assert asked > 40
    assert not [line for line in lines.written if "m4rk" in line]
    assert all(MARK not in message.body + message.subject for message in mail.outbox)


FAILURES = [
    OSError(f"cannot connect to postgres://anex:{MARK}@db:5432/anex"),
    RuntimeError(f"redis://:{MARK}@cache refused"),
    ValueError(f"GET {SIGNED.partition('&sig')[0]} as Bearer {MARK}; whsec_{MARK}; sk_live_m4rk"),
    OperationalError(f'password authentication failed for "anex" at postgres://anex:{MARK}@db'),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_what_fails_inside_is_told_to_nobody(place, sender, lines, monkeypatch, failure):
    def fail(*_, **__):
        raise failure

    monkeypatch.setattr(submissions, "submit", fail)
    body = {"model": "scripted", "input_id": place.values["input_id"]}
    answer = sender.send(Attack("POST", "/batch/v1/jobs", (("Content-Type", JSON),), json.dumps(body).encode()))
    assert answer.status in (500, 503)
    assert list(json.loads(answer.content)) == ["detail"]
    assert b"m4rk" not in answer.content
    until(lambda: any("/batch/v1/jobs" in line for line in lines.written))
    assert not any("m4rk" in line for line in lines.written)
