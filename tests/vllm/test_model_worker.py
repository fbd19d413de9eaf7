"""A Celery worker of a model starts the real vLLM, and a job runs on it; SIGTERM leaves nothing behind."""

import shlex
import signal
import time

from anex.supervisor.valkey import accepts, free_port
from tests.faults.books import assert_books_agree, chat_lines
from tests.vllm import environment
from tests.vllm.conftest import CHAT, CHAT_ARGUMENTS, READY_S, host

LIVE = "SELECT id FROM inference_backend WHERE source = 'worker' AND seen_at IS NOT NULL"


def test_job_on_a_worker_that_starts_its_own_vllm() -> None:
    port = free_port()
    options = f"--weights {environment.WEIGHTS} --port {port} --concurrency 8"
    with host() as stack:
        worker = stack.start_model_worker("gpu", CHAT, f"{options} --vllm-args={shlex.quote(CHAT_ARGUMENTS)}")
        until = time.monotonic() + READY_S
        while not stack.query(LIVE):
            assert worker.poll() is None, (stack.state / "gpu.log").read_text()
            assert time.monotonic() < until, (stack.state / "gpu.log").read_text()
            time.sleep(1)
        lines = chat_lines(20)
        job = stack.submit(lines, model=CHAT, max_output_tokens=24)
        assert stack.wait_until_priced(job)["status"] == "cost_ready"
        stack.api("POST", f"/jobs/{job}/approve")
        stack.wait_for(job, "done", seconds=READY_S)
        assert assert_books_agree(stack, job, lines)["error_rows"] == 0
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(120) == 0
        assert stack.query(LIVE) == []
        assert not accepts(port)
