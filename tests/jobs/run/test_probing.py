"""What hosts tell of clips of an admitted job makes its price finer, and ends it only for a type that is not taken."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import Organization
from anex.core import safe_http
from anex.core.usage import Usage
from inference.media.probe import Patience
from inference.requests import rows as requests
from jobs.models import Job
from jobs.run import claims, context, fetching, probing, validation
from jobs.run.claims import Interrupted
from jobs.run.control import run_control
from jobs.run.cutting import Cut
from jobs.run.totals import Checked
from jobs.storage import keys, store
from tests import https
from tests.inference.media import clips
from tests.inference.media.clips import by_url
from tests.jobs.run.driver import HandLease, chat_line, claim_one, submit, validate
from tests.jobs.run.test_media import serve

MP4 = clips.video("mp4")
CEILING = 61 * 105
PROMPT = 6


@pytest.fixture
def host(https_server: https.Server, https_rules: Any, monkeypatch: pytest.MonkeyPatch) -> https.Server:
    monkeypatch.setattr(safe_http, "PUBLIC", https_rules)
    return https_server


def check(organization: Organization, *parts: Any, **fields: Any) -> Job:
    """A job of one row for each part, checked."""
    lines = [chat_line(f"row-{place}", [part]) for place, part in enumerate(parts)]
    return validate(submit(organization, "\n".join(lines).encode(), model_id="scripted-media", **fields))


def reason(job: Job) -> str:
    return str(json.loads(store().read(keys.failure(job.pk)))["reason"])


def test_a_clip_is_read_once_for_all_rows_that_name_it(acme: Organization, host: https.Server) -> None:
    serve(host, "/clip.mp4", MP4)
    job = check(acme, *[by_url("video", host.url("/clip.mp4"))] * 3)
    assert job.est_input_tokens == 3 * (PROMPT + 3 * 105)
    assert Usage(**(job.est_media or {})) == Usage(input_tokens=3 * (PROMPT + 3 * 105), clips=3, video_ms=4_500)
    assert {request.headers["range"] for request in host.requests} == {"bytes=0-262143"}
    assert len(host.requests) == 1


def test_an_address_in_capitals_is_asked_too(acme: Organization, host: https.Server) -> None:
    serve(host, "/clip.mp4", MP4)
    job = check(acme, by_url("video", host.url("/clip.mp4").replace("https", "HTTPS")))
    assert job.est_input_tokens == PROMPT + 3 * 105


def test_a_long_file_costs_its_first_and_last_block(acme: Organization, host: https.Server) -> None:
    place = MP4.index(b"mdat") - 4
    boxed = MP4[:place] + (3_000_000).to_bytes(4, "big") + b"free" + bytes(2_999_992) + MP4[place:]
    serve(host, "/clip.mp4", boxed)
    assert check(acme, by_url("video", host.url("/clip.mp4"))).est_input_tokens == PROMPT + 3 * 105
    assert len(host.requests) <= 4


def test_a_clip_of_few_frames_is_sampled_at_its_own_rate(acme: Organization, host: https.Server) -> None:
    serve(host, "/slow.mp4", clips.video("mp4", frames=20, fps=2))
    job = check(acme, by_url("video", host.url("/slow.mp4")), video_fps=20)
    assert job.est_input_tokens == PROMPT + 21 * 105


@pytest.mark.parametrize("content_type", ["application/octet-stream", "text/html", "audio/wav", "video/mp2t"])
def test_a_type_that_is_not_taken_fails_the_job_naming_the_line(
    acme: Organization, host: https.Server, content_type: str
) -> None:
    host.answer("/clip", 200, b"", Content_Type=content_type)
    job = check(acme, by_url("image", host.url("/clip")), by_url("video", host.url("/clip"), duration_seconds=3))
    assert (job.status, job.failure_code, job.failure_line) == ("failed", "invalid_input", 2)
    assert f"video_url.url: {content_type} is not a supported video format" in reason(job)
    assert [request.method for request in host.requests] == ["HEAD"]


def silent(server: https.Server) -> None:
    server.handlers["/clip"] = lambda _, peer: peer.close()


def broken_ranges(server: https.Server) -> None:
    server.answer("/clip", 206, MP4[:10], Content_Type="video/mp4", Content_Range=f"bytes 0-9/{len(MP4)}")


TOLD_NOTHING: dict[str, Callable[[https.Server], None]] = {
    "no answer": silent,
    "not found": lambda server: server.answer("/clip", 404, b"", Content_Type="text/html"),
    "a redirect": lambda server: server.answer("/clip", 302, b"", Location="https://source.test/", Content_Type="x/y"),
    "no type": lambda server: server.answer("/clip", 200, b""),
    "half a range": broken_ranges,
    "too long a clip": lambda server: serve(server, "/clip", clips.video("mp4", 62, 1), Content_Type="video/mp4"),
    "one frame": lambda server: serve(server, "/clip", clips.video("mp4", 1, 1), Content_Type="video/mp4"),
}


@pytest.mark.parametrize("name", TOLD_NOTHING)
def test_a_host_that_tells_nothing_of_use_leaves_the_row_at_its_ceiling(
    acme: Organization, host: https.Server, name: str
) -> None:
    TOLD_NOTHING[name](host)
    job = check(acme, by_url("video", host.url("/clip")))
    assert (job.status, job.est_input_tokens) == ("cost_ready", PROMPT + CEILING)
    assert not list(store().list(f"{keys.job_prefix(job.pk)}media"))


def test_a_host_that_serves_no_ranges_tells_a_size(acme: Organization, host: https.Server) -> None:
    host.answer("/clip.mp3", 200, bytes(80_000))
    job = check(acme, by_url("audio", host.url("/clip.mp3")))
    assert Usage(**(job.est_media or {})).audio_ms == 10_000


def test_addresses_beyond_the_bound_are_priced_at_the_ceiling(
    acme: Organization, host: https.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "MOST_CLIPS", 2)
    serve(host, "/clip.mp4", MP4)
    job = check(acme, *[by_url("video", host.url(f"/clip.mp4?{place}")) for place in range(3)])
    assert job.est_input_tokens == 3 * PROMPT + 2 * 3 * 105 + CEILING


def test_nobody_is_asked_once_the_time_is_over(
    acme: Organization, host: https.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "SECONDS", 0.0)
    job = check(acme, by_url("video", host.url("/clip.mp4")))
    assert (job.est_input_tokens, host.requests) == (PROMPT + CEILING, [])


def test_a_worker_that_stops_is_not_held_up(acme: Organization, host: https.Server) -> None:
    job = submit(acme, chat_line("row", [by_url("video", host.url("/clip.mp4"))]).encode(), model_id="scripted-media")
    claim = claim_one(HandLease(), "validate", model_id="scripted-media")
    assert claim
    with pytest.raises(Interrupted):
        cuts = [Cut(first_row=0, row_count=1, line=1, start=0, end=job.input.size_bytes or 0)]
        probing.refine(claim, context.load(job.pk), Checked(media=Usage(clips=1)), cuts, go_on=lambda: False)


@pytest.mark.parametrize("same_worker", [True, False])
def test_lengths_of_a_check_that_was_made_again_do_not_count(
    acme: Organization, host: https.Server, monkeypatch: pytest.MonkeyPatch, same_worker: bool
) -> None:
    """Otherwise a row priced at the ceiling would be held to a length that its price never knew."""
    serve(host, "/clip.mp4", MP4)
    job = submit(acme, chat_line("row", [by_url("video", host.url("/clip.mp4"))]).encode(), model_id="scripted-media")
    lease = HandLease()
    claim = claim_one(lease, "validate", model_id="scripted-media")
    assert claim
    with monkeypatch.context() as killed, pytest.raises(ZeroDivisionError):
        killed.setattr(validation, "_commit", lambda *_: 1 / 0)
        run_control(claim)
    claims.release(claim)
    host.answer("/clip.mp4", 404, b"")
    again = claim_one(lease if same_worker else HandLease(), "validate", model_id="scripted-media")
    assert again
    run_control(again)
    job.refresh_from_db()
    assert (job.status, job.est_input_tokens) == ("cost_ready", PROMPT + CEILING)
    assert context.load(job.pk).lengths == {}


def test_a_clip_that_grew_since_it_was_priced_fails_its_row(acme: Organization, host: https.Server) -> None:
    serve(host, "/clip.mp4", MP4)
    job = check(acme, by_url("video", host.url("/clip.mp4")))
    serve(host, "/clip.mp4", clips.video("mp4", frames=40))
    loaded = context.load(job.pk)
    row = requests.parse(store().read(job.input.key), model=loaded.model, options=loaded.options)
    with pytest.raises(requests.RowError) as fault:
        fetching.prepare(row, context=loaded, patience=Patience(), go_on=lambda: True)
    assert fault.value.code == "media_length_mismatch"
