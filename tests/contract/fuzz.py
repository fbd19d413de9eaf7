"""Schemathesis against the APIs as real processes: examples, edge cases, random data and sequences of calls.

Run by `make fuzz` and `make test-all`. The platform holds inputs and jobs in every lasting state, so that ids often
name something. The exit status is schemathesis's, 1 when an answer breaks the description; 2 when an operation got
too few cases, or never one that succeeded.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.faults.books import chat_lines  # noqa: E402
from tests.stack import Stack  # noqa: E402

CASES, FEWEST = 60, 40
REALTIME_CASES = 150
WITHOUT_INPUT = ("GET /models", "GET /v1/models", "GET /openai/v1/models")
OTHER_MODELS = ("scripted-embed", "scripted-decide")
# Longer than a run takes.
SLOW = chat_lines(1, content="[[sleep 900000]]")
# A valid body may still name a model that is not on offer. A missing header is 422 here (reference 001), where
# schemathesis allows 401 and 403 only: `fuzz_counts.refuses_strangers` checks it in place of the other two.
NOT_CHECKED = "positive_data_acceptance,missing_required_header,ignored_auth"
# On the realtime hosts valid bodies are answered: the hooks name models that are there.
NOT_CHECKED_IN_REALTIME = "missing_required_header,ignored_auth"
# The second surface describes messages, tools and forms as any objects.
NOT_CHECKED_ON_SECOND = f"{NOT_CHECKED_IN_REALTIME},positive_data_acceptance"
SURFACES = (
    ("/realtime/v1", "realtime", NOT_CHECKED_IN_REALTIME),
    ("", "openai", NOT_CHECKED_IN_REALTIME),
    ("", "openai-second", NOT_CHECKED_ON_SECOND),
)


def main() -> int:
    """Start everything, make things to name, run schemathesis."""
    with tempfile.TemporaryDirectory(prefix="anex-fuzz-", dir="/var/tmp") as folder, Stack(Path(folder)) as stack:
        for model in OTHER_MODELS:
            stack.manage("backends", "set", model, f"http://127.0.0.1:{stack.engine_port}/v1", "--served-name", model)
        return _batch(stack, Path(folder)) or _realtime(stack, Path(folder))


def _batch(stack: Stack, folder: Path) -> int:
    tags = ["--include-tag=inputs", "--include-tag=jobs"]
    ids = {"ANEX_FUZZ_IDS": json.dumps(_make_things(stack))}
    options = ["--phases=examples,coverage,fuzzing,stateful", f"--max-examples={CASES}"]
    return _run(stack, folder, "/batch/v1", [*tags, *options, f"--exclude-checks={NOT_CHECKED}"], "fuzz_hooks", ids)


def _realtime(stack: Stack, folder: Path) -> int:
    """Every surface; sequences of calls mean nothing there."""
    options = ["--phases=examples,coverage,fuzzing", f"--max-examples={REALTIME_CASES}"]
    for host, tag, not_checked in SURFACES:
        chosen = [f"--include-tag={tag}", f"--exclude-checks={not_checked}", *options]
        if status := _run(stack, folder, host, chosen, "fuzz_realtime", {}):
            return status
    return 0


def _run(stack: Stack, folder: Path, host: str, options: list[str], hooks: str, environment: dict[str, str]) -> int:
    counts = folder / "counts.json"
    environment = os.environ | environment
    environment |= {"SCHEMATHESIS_HOOKS": f"tests.contract.{hooks}", "ANEX_FUZZ_COUNTS": str(counts)}
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        f"--config-file={Path(__file__).with_name('schemathesis.toml')}",
        "run",
        f"http://127.0.0.1:{stack.web_port}/openapi.json",
        f"--url=http://127.0.0.1:{stack.web_port}{host}",
        f"--header=Authorization: Bearer {stack.secret}",
        *options,
        "--continue-on-failure",
        *sys.argv[1:],
    ]
    environment |= {"PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    judged = subprocess.run(command, cwd=folder, env=environment, check=False).returncode
    return judged or _too_few(json.loads(counts.read_text()))


def _too_few(answered: dict[str, dict[str, int]]) -> int:
    """2 for an operation with too few cases or none that succeeded, else 0; prints what was answered how often."""
    status = 0
    for operation, counts in sorted(answered.items()):
        many = sum(counts.values()) >= FEWEST or operation in WITHOUT_INPUT
        enough = many and any(code.startswith("2") for code in counts)
        status = status if enough else 2
        print(operation, dict(sorted(counts.items())), "" if enough else "TOO FEW", flush=True)
    return status


def _make_things(stack: Stack) -> dict[str, list[str]]:
    """Ids of inputs, of jobs in every lasting state, of some left to approve, and of some that run all the while."""
    awaited = stack.api("POST", "/inputs", {"format": "jsonl"})["id"]
    with_an_error = chat_lines(1) + chat_lines(1, prefix="refused", content="[[status 400]]")
    jobs = [_job(stack, lines, verb) for lines in (with_an_error, SLOW) for verb in ("approve", "approve", "cancel")]
    jobs += [_job(stack, chat_lines(1)), _job(stack, ["no row"])]
    for job_id in jobs[:2]:
        stack.wait_for(job_id, "done")
    quoted = [_job(stack, chat_lines(1)) for _ in range(3)]
    running = [_job(stack, SLOW, "approve") for _ in range(3)]
    inputs = [str(input_id) for (input_id,) in stack.query("SELECT id FROM jobs_input")]
    return {"inputs": [awaited, *inputs], "jobs": jobs, "quoted": quoted, "running": running}


def _job(stack: Stack, lines: list[str], verb: str = "") -> str:
    """A job with a price (or refused for what its rows say), then approved or cancelled."""
    job_id = stack.submit(lines, max_output_tokens=64)
    stack.wait_until_priced(job_id)
    if verb:
        stack.api("POST", f"/jobs/{job_id}/{verb}")
    return job_id


if __name__ == "__main__":
    sys.exit(main())
