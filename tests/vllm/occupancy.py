"""How full a real vLLM server on the CPU is during a job, beside a bare loop over the same file; interleaved rounds.

Run by `python -m tests.vllm.occupancy`. What is compared is the mean of `vllm:num_requests_running` from the first
request to the last. Which of the two goes first alternates, so that neither has the warmer server or the quieter
machine by its place.
"""

import asyncio
import json
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import fmean
from urllib.request import urlopen

import aiohttp

from anex.supervisor.valkey import free_port
from tests.vllm.conftest import CHAT, host, run_job, start_worker

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


async def bare_loop(port: int, rows: list[list[dict[str, str]]], *, at_once: int, tokens: int) -> None:
    """Every row to the server, in order and so many at once, and nothing else."""
    places = asyncio.Semaphore(at_once)
    async with aiohttp.ClientSession() as session:

        async def ask(row: list[dict[str, str]]) -> None:
            body = {"model": CHAT, "messages": row, "max_tokens": tokens, "temperature": 0}
            async with places, session.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=body) as answer:
                assert answer.status == 200, await answer.text()
                await answer.read()

        await asyncio.gather(*(ask(row) for row in rows))


def lines_of(rows: list[list[dict[str, str]]]) -> list[str]:
    """The rows as those of a file."""
    lines = (
        {"custom_id": f"{row}", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": said}}
        for row, said in enumerate(rows)
    )
    return [json.dumps(line) for line in lines]


def main() -> None:
    """Print each round's means, and the ratio of all."""
    port = free_port()
    with host() as stack:
        worker = start_worker(stack, port, at_once=AT_ONCE)
        legs: dict[str, Callable[[list[list[dict[str, str]]]], object]] = {
            "bare": lambda rows: asyncio.run(bare_loop(port, rows, at_once=AT_ONCE, tokens=TOKENS)),
            "job": lambda rows: run_job(stack, lines_of(rows), max_output_tokens=TOKENS, temperature=0),
        }
        means = []
        for round_ in range(ROUNDS):
            filled = {}
            for leg, run in reversed(legs.items()) if round_ % 2 else legs.items():
                with watched(port) as seen:
                    run(messages(2 * round_ + (leg == "job")))
                filled[leg] = mean(seen)
            means.append((filled["job"], filled["bare"]))
            print(f"round {round_}: job {means[-1][0]:.2f}, bare loop {means[-1][1]:.2f}", flush=True)
        print(f"job / bare loop: {sum(ours for ours, _ in means) / sum(bare for _, bare in means):.3f}")
        worker.send_signal(signal.SIGTERM)
        worker.wait(120)


if __name__ == "__main__":
    sys.exit(main())
