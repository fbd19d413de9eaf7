"""A job from a file to its answers, by commands alone."""

import json

from tests.cli.conftest import Shell
from tests.cli.cutting_proxy import CuttingProxy
from tests.stack import Stack


def test_a_job_goes_from_a_file_to_its_answers(anex: Shell, stack: Stack, proxy: CuttingProxy) -> None:
    name = anex.rows(200, "hello " * 400)
    proxy.cuts = {b"/storage/upload": [100_000], b"/storage/object/": [30_000, 10_000]}
    sent = anex("submit", name, "--model", "scripted", "--max-output-tokens", "20")
    job = sent.stdout.strip()
    assert "sent again from its beginning" in sent.stderr
    assert f"anex estimate {job}" in sent.stderr

    priced = anex("estimate", job)
    assert "at most" in priced.stdout
    assert "Nobody is there to ask" in anex("approve", job, status=2).stderr
    assert "more than the $0.00 you allow" in anex("approve", job, "--yes", "--max-cost", "0", status=1).stderr
    assert stack.api("GET", f"/jobs/{job}")["status"] == "cost_ready"
    assert "in_progress" in anex("approve", job, "--yes").stdout
    watched = anex("watch", job, FORCE_COLOR="1")
    assert "200/200" in watched.stderr
    assert "charged" in watched.stdout

    loaded = anex("download", job, "--output", "answers.jsonl")
    assert "200 rows" in loaded.stdout
    assert [json.loads(line) for line in (anex.home / "answers.jsonl").read_text().splitlines()] == stack.result(job)
    asked = proxy.ranges(b"/storage/object/")
    assert asked[0] == b""
    assert [text[:6] for text in asked[1:3]] == [b"bytes="] * 2
    assert int(asked[2][6:-1]) > int(asked[1][6:-1]) > 0
    assert not list(anex.home.glob("*.part"))
    assert "is there already" in anex("download", job, "-o", "answers.jsonl", status=2).stderr
    assert anex("jobs", "--status", "done").stdout.split().count(job) == 1


def test_a_file_that_is_there_already_is_not_uploaded_again(anex: Shell, proxy: CuttingProxy) -> None:
    command = ("submit", anex.rows(3), "--model", "scripted", "--max-output-tokens", "5")
    anex(*command)
    proxy.heads.clear()
    assert "nothing is uploaded" in anex(*command).stderr
    assert proxy.ranges(b"/storage/upload") == []
    anex.rows(4)
    assert "nothing is uploaded" not in anex(*command).stderr


def test_one_command_does_it_all_within_a_price(anex: Shell) -> None:
    command = ("submit", anex.rows(3), "--model", "scripted", "--max-output-tokens", "99", "--approve", "--watch")
    assert "needs --max-cost" in anex(*command, status=2).stderr
    done = anex.json(*command, "--max-cost", "1")
    assert (done["status"], done["success_rows"]) == ("done", 3)
    loaded = anex.json("download", done["id"])
    assert loaded | {"bytes": 0} == {
        "job": done["id"],
        "file": f"{done['id']}.jsonl",
        "bytes": 0,
        "rows": 3,
        "partial": False,
    }


def test_what_is_wrong_with_a_file_ends_the_watch_with_the_sentence_of_the_server(anex: Shell) -> None:
    (anex.home / "bad.jsonl").write_text("{}\n")
    refused = anex("submit", "bad.jsonl", "--model", "scripted", status=1).stderr
    assert "Line 1 of bad.jsonl is no object with a custom_id. Nothing was uploaded." in refused
    row = {"custom_id": "row-1", "method": "POST", "url": "/v1/embeddings", "body": {}}
    (anex.home / "bad.jsonl").write_text(json.dumps(row) + "\n")
    job = anex.json("submit", "bad.jsonl", "--model", "scripted", "--max-output-tokens", "5")["id"]
    reason = anex.json("watch", job, status=5)["failure_reason"]
    assert "1" in reason
    assert reason in anex("estimate", job, status=5).stderr


def test_cancelling_says_what_became_of_the_job(anex: Shell) -> None:
    job = anex.json("submit", anex.rows(2, "other"), "-m", "scripted", "--max-output-tokens", "5")["id"]
    assert anex.json("estimate", job)["est_cost_cents"] == 1
    assert "Nobody is there to ask" in anex.json("approve", job, status=2)["error"]["message"]
    assert anex.json("cancel", job)["status"] == "cancelled"
    again = anex.json("cancel", job, status=1)
    assert again["error"]["status"] == 409
    assert "cancelled" in again["error"]["message"]
