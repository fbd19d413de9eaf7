"""A Celery worker of a model starts the real vLLM, and a job runs on it; SIGTERM leaves nothing behind."""

import signal

from anex.supervisor.valkey import accepts, free_port
from tests.faults.books import assert_books_agree, chat_lines
from tests.vllm.conftest import LIVE, host, run_job, start_worker


def test_job_on_a_worker_that_starts_its_own_vllm() -> None:
    port = free_port()
    with host() as stack:
        worker = start_worker(stack, port, at_once=8)
        lines = chat_lines(20)
        job = run_job(stack, lines, max_output_tokens=24)
        assert assert_books_agree(stack, job, lines)["error_rows"] == 0
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(120) == 0
        assert stack.query(LIVE) == []
        assert not accepts(port)
