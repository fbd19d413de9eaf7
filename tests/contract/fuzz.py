"""Schemathesis against the batch API as real processes: examples, edge cases, random data and sequences of calls.

Run by `make fuzz` and `make test-all`. The platform holds inputs and jobs in every state, so that ids often name
something. The exit status is schemathesis's: 1 when an answer breaks the description.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.stack import Stack, send  # noqa: E402

CASES = 60
# A valid body may still name a model that is not on offer. A missing header is 422 here (reference 001), where
# schemathesis allows 401 and 403 only: `fuzz_hooks.refuses_strangers` checks it in place of the other two.
NOT_CHECKED = "positive_data_acceptance,missing_required_header,ignored_auth"


def main() -> int:
    """Start everything, make things to name, run schemathesis."""
    with tempfile.TemporaryDirectory(prefix="anex-fuzz-", dir="/var/tmp") as folder, Stack(Path(folder)) as stack:
        environment = os.environ | {
            "SCHEMATHESIS_HOOKS": "tests.contract.fuzz_hooks",
            "ANEX_FUZZ_IDS": json.dumps(_make_things(stack)),
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "120",
        }
        command = [
            str(Path(sys.executable).with_name("schemathesis")),
            "run",
            f"http://127.0.0.1:{stack.web_port}/openapi.json",
            f"--url=http://127.0.0.1:{stack.web_port}/batch/v1",
            "--include-tag=inputs",
            "--include-tag=jobs",
            f"--header=Authorization: Bearer {stack.secret}",
            "--phases=examples,coverage,fuzzing,stateful",
            f"--max-examples={CASES}",
            f"--exclude-checks={NOT_CHECKED}",
            "--continue-on-failure",
            *sys.argv[1:],
        ]
        return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def _make_things(stack: Stack) -> dict[str, list[str]]:
    inputs = [_input(stack, uploaded=number > 0) for number in range(4)]
    jobs = [_job(stack, input_id) for input_id in inputs[1:]]
    for job_id, call in zip(jobs, ("cancel", "approve"), strict=False):
        _call(stack, "POST", f"/jobs/{job_id}/{call}")
    return {"inputs": inputs, "jobs": jobs}


def _input(stack: Stack, *, uploaded: bool) -> str:
    made = _call(stack, "POST", "/inputs", {"format": "jsonl"})
    if uploaded:
        row = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions"}
        row["body"] = {"messages": [{"role": "user", "content": "Hello"}]}
        _upload(made["upload_url"], made["fields"], json.dumps(row).encode())
    return str(made["id"])


def _job(stack: Stack, input_id: str) -> str:
    body = {"input_id": input_id, "model": "scripted", "max_output_tokens": 64}
    return str(_call(stack, "POST", "/jobs", body)["id"])


def _upload(url: str, fields: dict[str, str], content: bytes) -> None:
    boundary = "anex-fuzz"
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items()]
    parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="rows.jsonl"\r\n\r\n')
    body = "".join(parts).encode() + content + f"\r\n--{boundary}--\r\n".encode()
    status, answer = send(url, "POST", body, {"Content-Type": f"multipart/form-data; boundary={boundary}"})
    assert status in (200, 201, 204), answer


def _call(stack: Stack, method: str, path: str, body: object = None) -> dict:
    headers = {"Authorization": f"Bearer {stack.secret}", "Content-Type": "application/json"}
    url = f"http://127.0.0.1:{stack.web_port}/batch/v1{path}"
    status, answer = send(url, method, None if body is None else json.dumps(body), headers)
    print(f"{method} {path}: {status}", flush=True)
    return dict(json.loads(answer))


if __name__ == "__main__":
    sys.exit(main())
