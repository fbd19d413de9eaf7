"""How full a real vLLM server on the CPU is during a job, beside a bare loop over the same file; interleaved rounds.

Run by `python -m tests.vllm.occupancy`. What is compared is the mean of `vllm:num_requests_running` from the first
request to the last. Which of the two goes first alternates, so that neither has the warmer server or the quieter
machine by its place.
"""

import asyncio
import json
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import fmean
from urllib.request import urlopen

import aiohttp

from anex.supervisor.valkey import free_port
from tests.stack import Stack
from tests.vllm import environment
from tests.vllm.conftest import CHAT, CHAT_ARGUMENTS, READY_S, host

ROUNDS, ROWS, TOKENS, AT_ONCE = 5, 160, 48, 8
RUNNING = re.compile(rb"^vllm:num_requests_running\{[^}]*\} ([0-9.]+)$", re.MULTILINE)


@contextmanager
def watched(port: int) -> Iterator[list[float]]:
    """Samples of the requests that run, ten a second."""
    seen: list[float] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
                seen.append(sum(float(found) for found in RUNNING.findall(answer.read())))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def mean(seen: list[float]) -> float:
    """From the first sample with a request to the last."""
    busy = [index for index, count in enumerate(seen) if count]
    return fmean(seen[busy[0] : busy[-1] + 1])


def messages(round_: int) -> list[list[dict[str, str]]]:
    """Other words in every round, so that no cache has them."""
    texts = [
        f"Round {round_}, number {row}: tell a long story about the rivers of this country." for row in range(ROWS)
    ]
    return [[{"role": "user", "content": text}] for text in texts]


async def bare_loop(port: int, round_: int) -> None:
    """Every row to the server at the same concurrency, and nothing else."""
    places = asyncio.Semaphore(AT_ONCE)
    async with aiohttp.ClientSession() as session:

        async def ask(row: list[dict[str, str]]) -> None:
            body = {"model": CHAT, "messages": row, "max_tokens": TOKENS, "temperature": 0}
            async with places, session.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=body) as answer:
                assert answer.status == 200, await answer.text()
                await answer.read()

        await asyncio.gather(*(ask(row) for row in messages(round_)))


def job(stack: Stack, round_: int) -> None:
    """The same rows through the platform."""
    lines = [
        json.dumps({"custom_id": f"{row}", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": said}})
        for row, said in enumerate(messages(round_))
    ]
    job_id = stack.submit(lines, model=CHAT, max_output_tokens=TOKENS, temperature=0)
    assert stack.wait_until_priced(job_id)["status"] == "cost_ready"
    stack.api("POST", f"/jobs/{job_id}/approve")
    stack.wait_for(job_id, "done", seconds=READY_S)


def main() -> None:
    """Print each round's means, and the ratio of all."""
    port = free_port()
    options = f"--weights {environment.WEIGHTS} --port {port} --concurrency {AT_ONCE}"
    with host() as stack:
        worker = stack.start_model_worker("gpu", CHAT, f"{options} --vllm-args={shlex.quote(CHAT_ARGUMENTS)}")
        until = time.monotonic() + READY_S
        while not stack.query("SELECT id FROM inference_backend WHERE seen_at IS NOT NULL"):
            assert worker.poll() is None, (stack.state / "gpu.log").read_text()
            assert time.monotonic() < until
            time.sleep(1)
        legs = {"bare": lambda number: asyncio.run(bare_loop(port, number)), "job": lambda number: job(stack, number)}
        means = []
        for round_ in range(ROUNDS):
            filled = {}
            for leg, run in reversed(legs.items()) if round_ % 2 else legs.items():
                with watched(port) as seen:
                    run(2 * round_ + (leg == "job"))
                filled[leg] = mean(seen)
            means.append((filled["job"], filled["bare"]))
            print(f"round {round_}: job {means[-1][0]:.2f}, bare loop {means[-1][1]:.2f}", flush=True)
        print(f"job / bare loop: {sum(ours for ours, _ in means) / sum(bare for _, bare in means):.3f}")
        worker.send_signal(signal.SIGTERM)
        worker.wait(120)


if __name__ == "__main__":
    sys.exit(main())
