"""Keys across processes: two web servers refuse a revoked key at once, and their logs never hold a secret."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.selectors import invitations as invitation_reads
from accounts.services import invitations, keys
from anex.core.logging import redact
from tests.factories import actor_of, make_key, make_organization, make_user
from tests.web import Web


@pytest.fixture
def webs(transactional_db, tmp_path: Path) -> Iterator[tuple[Web, Web]]:
    pair = Web(tmp_path / "one.log"), Web(tmp_path / "two.log")
    try:
        for web in pair:
            web.wait()
        yield pair
    finally:
        for web in pair:
            web.stop()


def test_revoked_in_one_process_is_refused_by_every_other_and_no_log_holds_a_secret(webs):
    key, other = make_key(), make_key(name="other")
    assert [web.status(key.header) for web in webs] == [404, 404]
    keys.revoke(organization_id=key.caller.organization_id, key_id=key.caller.key_id, actor=actor_of(make_user()))
    assert [web.status(key.header) for web in webs] == [401, 401]
    assert [web.status(other.header) for web in webs] == [404, 404]

    # Where a secret must not be but people put it: the address, another header, a wrong scheme.
    for web in webs:
        web.status("Basic nothing", f"/batch/v1/jobs/{other.secret}")
        web.status(other.secret, f"/nowhere?key={other.secret}")
        web.status(other.header, "/invitations/" + "t0k3n" * 9)
        web.status(other.header, "/storage/object/jobs/x/result.jsonl?X-Amz-Date=1&X-Amz-Signature=" + "t0k3n" * 9)
        web.status(other.header, "/accounts/password/reset/key/1-" + "t0k3n" * 9 + "/")
        web.process.send_signal(signal.SIGTERM)
        web.process.wait(timeout=30)
        log = web.log.read_text()
        assert "/nowhere" in log
        assert f"sk-{other.caller.key_id}…" in log
        for secret in (key.secret, other.secret, key.secret[15:], other.secret[15:], "t0k3n"):
            assert secret not in log


@pytest.mark.django_db
def test_no_answer_repeats_the_secret_it_was_given(client):
    key = make_key()
    for header in (key.secret, f"Basic {key.secret}", f"Bearer {key.secret}x", f"Bearer {key.secret[:-1]}"):
        answer = client.get("/batch/v1/jobs/nothing", headers={"Authorization": header})
        assert answer.status_code == 401
        assert key.secret[15:40] not in answer.content.decode()


@pytest.mark.django_db
def test_link_of_an_invitation_is_masked_in_log_lines(django_capture_on_commit_callbacks, mailoutbox):
    acme = make_organization("Acme")
    with django_capture_on_commit_callbacks(execute=True):
        invitations.create(
            organization_id=acme.pk, email="joan@example.com", role="member", actor=actor_of(make_user("ada"))
        )
    path = mailoutbox[0].body.partition("/invitations/")[2].split()[0]
    assert invitation_reads.by_token(path)
    assert redact(f'"GET /invitations/{path} HTTP/1.1" 200') == '"GET /invitations/… HTTP/1.1" 200'
    assert redact("Not Found: /invitations/new") == "Not Found: /invitations/new"
    known = "/invitations/0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f/revoke"
    assert redact(known) == known


def test_the_signature_of_a_link_in_a_log_line_is_masked():
    line = '"GET /storage/object/jobs/x?X-Amz-Expires=60&X-Amz-Signature=0a1b2c&response-content-type=a HTTP/1.1"'
    assert redact(line) == line.replace("0a1b2c", "…")
    assert redact("https://s3.test/x?X-Amz-Security-Token=AbC%2F%3D%3D&X-Amz-Date=1") == (
        "https://s3.test/x?X-Amz-Security-Token=…&X-Amz-Date=1"
    )


def test_a_signing_secret_in_a_log_line_is_masked():
    assert redact("signed with whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw+/=.") == "signed with whsec_…."


@pytest.mark.parametrize(
    ("line", "told"),
    [
        # Cut short, as paths are.
        ("GET /jobs/sk-aaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbb", "GET /jobs/sk-aaaaaaaaaaaa…"),
        ("postgres://anex:pa@ss:w@db:5432/anex is away", "postgres://…@db:5432/anex is away"),
        ("from https://ada:secret@files.example/rows.jsonl?a=b", "from https://…@files.example/rows.jsonl?a=b"),
        ("redis://:secret@cache", "redis://…@cache"),
        ("{'Authorization': 'Bearer t0k3n.of-a/server'}", "{'Authorization': 'Bearer …'}"),
        (
            "https://anex.example/v1/uploads/a/b.png?signature=abc:def",
            "https://anex.example/v1/uploads/a/b.png?signature=…",
        ),
        ("stripe said no to sk_live_abc123", "stripe said no to sk_live_…"),
        ("mail to joan@example.com: sent", "mail to joan@example.com: sent"),
        ("https://example.com/@joan: found", "https://example.com/@joan: found"),
    ],
)
def test_what_opens_something_in_a_log_line_is_masked(line, told):
    assert redact(line) == told
