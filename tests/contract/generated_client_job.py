"""The main job through the client that openapi-python-client generated; run by test_generated_client.py.

Arguments: the base URL and the key; the generated package `anex_client` is on the path. Prints the result's lines.
"""

import json
import sys
import time
from typing import Any

import httpx
from anex_client import AuthenticatedClient
from anex_client.api.inputs import create_input, get_input
from anex_client.api.jobs import approve_job, create_job, get_job, get_job_result
from anex_client.models import CreateInputRequest, CreateJobRequest, Input, Job, JobResult, JobStatus

ROWS = [
    {
        "custom_id": f"row-{number}",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"messages": [{"role": "user", "content": f"Say {number}"}]},
    }
    for number in range(5)
]


def main(base_url: str, key: str) -> None:
    """Upload, submit, wait, approve, wait, download."""
    client = AuthenticatedClient(base_url=base_url, token=key, raise_on_unexpected_status=True)
    made = expect(Input, create_input.sync(client=client, body=CreateInputRequest.from_dict({"format": "jsonl"})))
    content = "".join(f"{json.dumps(row)}\n" for row in ROWS)
    uploaded = httpx.post(made.upload_url, data=made.fields.to_dict(), files={"file": ("rows.jsonl", content)})
    uploaded.raise_for_status()
    assert expect(Input, get_input.sync(client=client, id=made.id)).status == "ready"
    asked = CreateJobRequest(model="scripted", input_id=made.id, max_output_tokens=32)
    job = expect(Job, create_job.sync(client=client, body=asked))
    quoted = wait_for(client, job, JobStatus.COST_READY)
    assert quoted.est_cost_cents
    approve_job.sync(client=client, id=job.id)
    done = wait_for(client, job, JobStatus.DONE)
    assert (done.success_rows + done.truncated_rows, done.error_rows) == (len(ROWS), 0)
    result = expect(JobResult, get_job_result.sync(client=client, id=job.id))
    print(httpx.get(result.result_url).raise_for_status().text, end="")


def wait_for(client: AuthenticatedClient, job: Any, status: JobStatus) -> Any:
    """Poll until the job has this status."""
    for _ in range(600):
        seen = expect(Job, get_job.sync(client=client, id=job.id))
        if seen.status == status:
            return seen
        time.sleep(0.1)
    raise AssertionError(f"the job is still {seen.status}")


def expect(kind: type, answer: Any) -> Any:
    """The answer, if it is of this kind: a refusal is an Error."""
    assert isinstance(answer, kind), answer
    return answer


if __name__ == "__main__":
    main(*sys.argv[1:])
