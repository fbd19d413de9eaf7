"""Files and batches: from an upload to the lines that come back."""

import json
import time
import uuid
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion

ENDPOINT = "/v1/chat/completions"
OVER = ("completed", "failed", "expired", "cancelled")
BATCH = {"endpoint": ENDPOINT, "completion_window": "24h"}
MOST_SECONDS = 120


def lines(model: str, *texts: str) -> bytes:
    """A file of requests, numbered."""
    bodies = ({"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 16} for text in texts)
    rows = (
        {"custom_id": f"row-{row}", "method": "POST", "url": ENDPOINT, "body": body} for row, body in enumerate(bodies)
    )
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def upload(client: openai.OpenAI, data: bytes) -> Any:
    return client.files.create(file=("requests.jsonl", data), purpose="batch")


def finished(client: openai.OpenAI, batch_id: str) -> Any:
    """The batch, once it is over."""
    until = time.monotonic() + MOST_SECONDS
    while (batch := client.batches.retrieve(batch_id)).status not in OVER:
        assert time.monotonic() < until, batch
        time.sleep(0.2)
    return batch


def read(client: openai.OpenAI, file_id: str | None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in client.files.content(file_id).text.splitlines()] if file_id else []


@pytest.mark.smoke
def test_batch_from_file_to_answers(client, anex) -> None:
    data = lines(anex.chat, "Name a river.", "Name a lake.")
    file = upload(client, data)
    assert (file.object, file.purpose, file.filename, file.bytes) == ("file", "batch", "requests.jsonl", len(data))
    assert client.files.retrieve(file.id) == file
    assert client.files.content(file.id).content == data
    made = client.batches.create(input_file_id=file.id, **BATCH, metadata={"team": "blue"})
    assert (made.status, made.input_file_id, made.metadata) == ("validating", file.id, {"team": "blue"})
    batch = finished(client, made.id)
    assert (batch.status, batch.errors, batch.error_file_id) == ("completed", None, None)
    counts = batch.request_counts
    assert (counts.total, counts.completed, counts.failed) == (2, 2, 0)
    output = read(client, batch.output_file_id)
    assert [line["custom_id"] for line in output] == ["row-0", "row-1"]
    answers = [ChatCompletion.model_validate(line["response"]["body"]) for line in output]
    assert all(answer.choices[0].message.content for answer in answers)
    assert batch.usage.total_tokens == sum(answer.usage.total_tokens for answer in answers)
    assert batch.usage.output_tokens_details.reasoning_tokens == 0
    assert batch.id in [listed.id for listed in client.batches.list(limit=5)]


def test_requests_that_fail_come_apart_and_each_id_once(client, anex) -> None:
    file = upload(client, lines(anex.chat, "Hi.", "[[status 400]]", "[[think 7]] Hi."))
    batch = finished(client, client.batches.create(input_file_id=file.id, **BATCH).id)
    assert (batch.request_counts.completed, batch.request_counts.failed) == (2, 1)
    (failed,) = read(client, batch.error_file_id)
    assert (failed["custom_id"], failed["response"], bool(failed["error"]["message"])) == ("row-1", None, True)
    assert [line["custom_id"] for line in read(client, batch.output_file_id)] == ["row-0", "row-2"]


def test_cancelled_batch_accounts_for_every_request(client, anex) -> None:
    file = upload(client, lines(anex.chat, *["[[sleep 300]] Hi."] * 40))
    batch = client.batches.create(input_file_id=file.id, **BATCH)
    until = time.monotonic() + MOST_SECONDS
    while not client.batches.retrieve(batch.id).request_counts.completed and time.monotonic() < until:
        time.sleep(0.1)
    assert client.batches.cancel(batch.id).status in ("cancelling", "cancelled", "finalizing", "completed")
    batch = finished(client, batch.id)
    found = [line["custom_id"] for name in (batch.output_file_id, batch.error_file_id) for line in read(client, name)]
    assert sorted(found) == sorted(f"row-{row}" for row in range(40))


def test_files_are_listed_once_each_page_by_page(client, anex) -> None:
    made = [upload(client, lines(anex.chat, f"{number}")).id for number in range(3)]
    listed = [file.id for file in client.files.list(purpose="batch", limit=2)]
    assert len(listed) == len(set(listed))
    assert listed[:3] == made[::-1]
    assert [file.id for file in client.files.list(order="asc", limit=2)][-3:] == made
    with pytest.raises(openai.APIStatusError) as kept:
        client.files.delete(made[0])
    assert (kept.value.status_code, kept.value.code) == (405, "file_deletion_not_supported")


def test_what_cannot_be_a_batch_is_refused_by_the_line(client, anex) -> None:
    with pytest.raises(openai.BadRequestError, match=r"(?i)line 2"):
        upload(client, lines(anex.chat, "Hi.") + b"no request\n")
    with pytest.raises(openai.BadRequestError) as refused:
        client.batches.create(input_file_id="file-none", endpoint=ENDPOINT, completion_window="7d")
    assert refused.value.param == "completion_window"
    with pytest.raises(openai.NotFoundError):
        client.batches.create(input_file_id=f"file-{uuid.uuid4().hex}", **BATCH)


def test_a_create_that_is_sent_twice_makes_one_batch(client, anex) -> None:
    file, key = upload(client, lines(anex.chat, "Hi.")), {"Idempotency-Key": uuid.uuid4().hex}
    first, second = (client.batches.create(input_file_id=file.id, **BATCH, extra_headers=key) for _ in range(2))
    assert first.id == second.id
    assert finished(client, first.id).status == "completed"


async def test_the_asynchronous_client_does_the_same(async_client, client, anex) -> None:
    file = await async_client.files.create(file=("r.jsonl", lines(anex.chat, "Hi.")), purpose="batch")
    batch = await async_client.batches.create(input_file_id=file.id, **BATCH)
    output = finished(client, batch.id).output_file_id
    async with async_client.files.with_streaming_response.content(output) as answer:
        assert json.loads(await answer.text())["custom_id"] == "row-0"
    assert (await async_client.batches.list(limit=1)).data[0].id == batch.id
