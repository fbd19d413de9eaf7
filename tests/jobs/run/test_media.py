"""Rows with pictures and clips, inline and hosted, through the real check, pump, engine and settlement."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Sum

from accounts.models import Organization
from anex.core import safe_http
from anex.core.actors import system
from anex.core.usage import Usage
from inference.backends import registry
from inference.media import fetching
from jobs.models import Job, Part
from jobs.run.pump import Pump
from jobs.run.turns import ROWS_OF_A_JOB
from tests import https
from tests.core.test_ranges import serve_ranges
from tests.inference.media import clips
from tests.inference.media.clips import by_url, data_uri, input_audio
from tests.inference.scripted_server import scripted_server
from tests.jobs.run.driver import approve, chat_line, validate
from tests.jobs.run.driver import submit as submit_lines
from tests.jobs.run.test_pump import result, run, wait_for, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

PNG, MP4, WAV = clips.picture("png"), clips.video("mp4"), clips.audio("wav")
GONE = b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"
TEXT = {"type": "text", "text": "say it"}


@pytest.fixture
def media_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, https_rules: Any) -> Iterator[None]:
    """An engine that serves both models that take media; the HTTPS server is what is public."""
    monkeypatch.setattr(safe_http, "PUBLIC", https_rules)
    monkeypatch.setattr(fetching, "RETRY_WAITS", (0.01, 0.01))
    with scripted_server("--journal", str(tmp_path / "journal"), "--max-model-len", "65536") as running:
        for model in ("scripted-media", "scripted-embed"):
            registry.configure(
                model_id=model, base_url=running.base_url, served_name=model, concurrency=16, actor=system("test")
            )
        yield


@pytest.fixture
def host(https_server: https.Server) -> https.Server:
    """A picture, two clips that are served by ranges, and what a host may do instead."""
    https_server.answer("/picture", 200, PNG, Content_Type="image/png")
    https_server.answer("/page.png", 200, b"<html>Not found</html>")
    https_server.answer("/away.png", 302, b"", Location="https://source.test/picture")
    https_server.answer("/page.mp3", 404, b"")
    serve(https_server, "/clip.mp4", MP4)
    serve(https_server, "/sound", WAV, Content_Type="audio/wav")
    return https_server


def serve(server: https.Server, path: str, data: bytes, **headers: str) -> None:
    """A file as an object store serves it: HEAD, ranges, whole."""
    server.answer(path, 200, data, **headers)
    whole = server.handlers[path]
    serve_ranges(server, path, data)
    ranges = server.handlers[path]
    server.handlers[path] = lambda request, peer: (ranges if "range" in request.headers else whole)(request, peer)


def embedding_line(custom_id: str, *parts: Any) -> str:
    body = {"custom_id": custom_id, "method": "POST", "url": "/v1/embeddings", "body": {"input": list(parts)}}
    return json.dumps(body)


def sums(job: Job) -> int:
    found = Part.objects.filter(chunk__job=job, chunk__kind="rows").aggregate(into=Sum("input_tokens"))
    return int(found["into"])


CHAT: list[list[Any]] = [
    [by_url("image", data_uri("png", PNG)), TEXT],
    [TEXT, by_url("video", data_uri("mp4", MP4)), input_audio("wav", WAV)],
    [TEXT, by_url("audio", data_uri("wav", WAV), duration_seconds=1.5)],
]


def test_chat_rows_with_inline_and_hosted_media_are_counted_to_the_token(
    acme: Organization, media_engine: None, host: https.Server, pump: Pump
) -> None:
    hosted = [
        [by_url("image", host.url("/picture")), by_url("image", host.url("/picture")), TEXT],
        [TEXT, by_url("video", host.url("/clip.mp4"))],
        [TEXT, by_url("audio", host.url("/sound"))],
    ]
    lines = [chat_line(f"row-{place}", parts) for place, parts in enumerate([*CHAT, *hosted])]
    job = run(acme, [*lines, chat_line("text", "say it")], model_id="scripted-media")
    assert (job.status, job.error_rows, job.format_error_rows) == ("done", 0, 0)
    assert {line["error"] for line in result(job)} == {None}
    prompt, clip, sound = 2 + 4 + 2, 3 * 105, 19
    media = [200, clip + sound, sound, 2 * 200, clip, sound]
    assert (job.media_rows, job.est_input_tokens) == (6, 7 * prompt + sum(media))
    assert Usage(**(job.est_media or {})) == Usage(
        input_tokens=6 * prompt + sum(media), images=3, clips=5, video_ms=3_000, audio_ms=4_500
    )
    assert sums(job) == job.est_input_tokens
    assert 1 <= (job.charge_cents or 0) <= (job.quote_cents or 0)
    asked = [(request.method, request.path) for request in host.requests]
    assert asked.count(("GET", "/picture")) == 1
    assert ("HEAD", "/sound") in asked


def test_the_fees_of_items_and_minutes_are_charged(acme: Organization, media_engine: None, pump: Pump) -> None:
    job = run(acme, [chat_line("row", CHAT[1])], model_id="scripted-media")
    (part,) = Part.objects.filter(chunk__job=job, chunk__kind="rows")
    tokens = part.input_tokens * 300 + part.output_tokens * 1_200 - part.cached_tokens * (300 - 75)
    fees = 2 * 400_000 + 1_500 * 300_000 // 60_000 + 1_500 * 100_000 // 60_000
    assert part.cost_nano == tokens + fees


def test_an_answer_without_usage_is_charged_as_its_media_was_priced(
    acme: Organization, media_engine: None, host: https.Server, pump: Pump
) -> None:
    """By its own length a clip that runs a little over would cost more than it was quoted, or be refused unpaid."""
    serve(host, "/ranges.mp4", MP4)
    host.answer("/grown.mp4", 200, clips.video("mp4", frames=24))
    ranges, whole = host.handlers["/ranges.mp4"], host.handlers["/grown.mp4"]
    host.handlers["/grown.mp4"] = lambda asked, peer: (ranges if "range" in asked.headers else whole)(asked, peer)
    silent = {"type": "text", "text": "say [[usage absent]]"}
    grown = by_url("video", host.url("/grown.mp4"))
    lines = [chat_line(f"row-{place}", [silent, part]) for place, part in enumerate((grown, CHAT[1][1]))]
    job = run(acme, lines, model_id="scripted-media")
    assert [line["error"] for line in result(job)] == [None, None]
    assert sums(job) == job.est_input_tokens
    assert 1 <= (job.charge_cents or 0) <= (job.quote_cents or 0)


def test_embedding_rows_with_media_become_vectors(
    acme: Organization, media_engine: None, host: https.Server, pump: Pump
) -> None:
    lines = [
        embedding_line("picture", by_url("image", data_uri("png", PNG))),
        embedding_line("both", TEXT, by_url("image", host.url("/picture")), by_url("video", host.url("/clip.mp4"))),
        embedding_line("text", TEXT, TEXT),
        embedding_line("many", *[by_url("image", data_uri("png", PNG))] * 5),
    ]
    options = {"model_id": "scripted-embed", "task_type": "embed", "requested_max_output_tokens": None}
    job = run(acme, lines, **options)
    assert (job.status, job.success_rows, job.error_rows) == ("done", 3, 1)
    found = result(job)
    assert [len(line["response"]["body"]["data"][0]["embedding"]) for line in found[:3]] == [384] * 3
    assert found[3]["error"] == "the row carries 5 images: model 'scripted-embed' takes at most 4"
    assert sums(job) == (6 + 64) + (6 + 2 + 64 + 3 * 81) + 3
    assert 1 <= (job.charge_cents or 0) <= (job.quote_cents or 0)


def test_hostile_media_fails_its_row_alone_and_free(
    acme: Organization, media_engine: None, host: https.Server, pump: Pump
) -> None:
    wide = bytearray(clips.picture("bmp"))
    wide[18:26] = (40_000).to_bytes(4, "little") * 2
    long = clips.audio("wav", 8.0)
    serve(host, "/long.wav", long)
    parts = {
        "good": by_url("image", data_uri("png", PNG)),
        "1.6e9 pixels": by_url("image", data_uri("bmp", bytes(wide))),
        "cut picture": by_url("image", data_uri("png", PNG[:12])),
        "cut clip": by_url("video", data_uri("mp4", MP4[:200])),
        "another file": by_url("image", host.url("/page.png")),
        "longer than declared": by_url("audio", host.url("/long.wav"), duration_seconds=2),
        "not there": by_url("audio", host.url("/page.mp3")),
        "redirect": by_url("image", host.url("/away.png")),
        "inside": by_url("image", f"https://{https.INSIDE}/secret.png?token=secret"),
    }
    job = run(acme, [chat_line(name, [TEXT, part]) for name, part in parts.items()], model_id="scripted-media")
    assert job.status == "done"
    kinds = {line["custom_id"]: line["error_type"] for line in result(job)}
    unreadable, unreachable = "media_unreadable", "media_unreachable"
    assert kinds == {
        "good": None,
        "1.6e9 pixels": unreadable,
        "cut picture": unreadable,
        "cut clip": unreadable,
        "another file": unreadable,
        "longer than declared": "media_length_mismatch",
        "not there": unreachable,
        "redirect": unreachable,
        "inside": unreachable,
    }
    assert (job.success_rows, job.error_rows, job.format_error_rows) == (1, 3, 5)
    sentences = [line["error"] for line in result(job)[1:]]
    assert all(sentence.startswith("body.messages[0].content[1]") for sentence in sentences)
    assert not any("secret" in sentence for sentence in sentences)
    (good,) = Part.objects.filter(chunk__job=job, success_rows=1).values_list("cost_nano", flat=True)[:1]
    assert sum(Part.objects.filter(chunk__job=job).values_list("cost_nano", flat=True)) == good


def test_hosts_that_dawdle_hold_up_no_other_job(
    acme: Organization, media_engine: None, host: https.Server, pump: Pump
) -> None:
    answered = threading.Event()
    host.handlers["/slow.mp3"] = lambda _, peer: (answered.wait(20), peer.sendall(GONE))  # type: ignore[assignment]
    clip = by_url("audio", host.url("/slow.mp3"), duration_seconds=1)
    lines = "\n".join(chat_line(f"row-{place}", [TEXT, clip]) for place in range(64)).encode()
    slow = wait_for(submit_lines(acme, lines, model_id="scripted-media"), "cost_ready")
    approve(slow)
    wait_until(lambda: len(host.requests) == ROWS_OF_A_JOB)
    picture = [TEXT, by_url("image", host.url("/picture"))]
    lines_of_another = [chat_line(f"row-{place}", picture if place % 2 else "say it") for place in range(20)]
    other = run(acme, lines_of_another, model_id="scripted-media")
    assert (other.status, other.result_rows, other.error_rows) == ("done", 20, 0)
    assert len([request for request in host.requests if request.path == "/slow.mp3"]) == ROWS_OF_A_JOB
    answered.set()
    assert wait_for(slow, "done").error_rows == 64


def test_a_clip_of_one_frame_fails_the_job_before_it_is_paid(acme: Organization, media_engine: None) -> None:
    one = by_url("video", data_uri("mp4", clips.video("mp4", frames=1, fps=1)))
    job = validate(submit_lines(acme, chat_line("clip-7", [one]).encode(), model_id="scripted-media"))
    assert (job.status, job.failure_line) == ("failed", 1)


def test_a_row_in_the_wider_context_leaves_its_own_room_for_answers(acme: Organization, media_engine: None) -> None:
    clip = by_url("video", "https://source.test/clip.mp4", duration_seconds=60)
    sounds = [by_url("audio", "https://source.test/sound.mp3", duration_seconds=600)] * 4
    lines = [chat_line("wide", [clip, *sounds]), chat_line("text", "say it")]
    job = validate(submit_lines(acme, "\n".join(lines).encode(), model_id="scripted-media"))
    sent = 2 + 4 + 61 * 105 + 4 * 7_500
    assert (job.status, job.est_input_tokens, job.max_output_tokens) == ("cost_ready", sent + 8, 16)
    assert job.longest_row_tokens == sent - 32_768


def test_a_picture_that_its_server_refused_because_it_is_cut_off_is_to_blame(
    acme: Organization, media_engine: None, pump: Pump
) -> None:
    refused = {"type": "text", "text": "[[status 400]]"}
    cut = by_url("image", data_uri("png", PNG[: len(PNG) * 2 // 3]))
    whole = by_url("image", data_uri("png", PNG))
    job = run(acme, [chat_line("cut", [cut, refused]), chat_line("whole", [whole, refused])], model_id="scripted-media")
    assert (job.error_rows, job.format_error_rows, job.charge_cents) == (1, 1, 0)
    assert [line["error_type"] for line in result(job)] == ["media_unreadable", "invalid_request_error"]
