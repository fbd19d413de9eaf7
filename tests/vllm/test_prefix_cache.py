"""Rows that begin alike are sent one after the other, so the server finds their beginnings in its cache."""

import asyncio
import re
import signal
from urllib.request import urlopen

from anex.supervisor.valkey import free_port
from tests.vllm.conftest import CHAT_ARGUMENTS, host, run_job, start_worker
from tests.vllm.occupancy import bare_loop, lines_of

PROMPTS, ROWS_OF_EACH, AT_ONCE, TOKENS = 12, 5, 4, 4
# 3,072 tokens: some of the system prompts fit into it, and all of them do not.
SMALL_CACHE = "--block-size 32 --num-gpu-blocks-override 96"
COUNTS = re.compile(rb"^vllm:prefix_cache_(hits|queries)_total\{[^}]*\} ([0-9.e+]+)$", re.MULTILINE)


def counts(port: int) -> dict[bytes, float]:
    """Tokens that were looked for in the cache, and those that were found."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        return {name: float(value) for name, value in COUNTS.findall(answer.read())}


def rows(leg: str) -> list[list[dict[str, str]]]:
    """A file in which system prompts of some 350 tokens take turns; other ones for each leg."""
    words = [f"{leg} {number}. " + "Answer as a guide of this river would. " * 40 for number in range(PROMPTS)]
    return [
        [{"role": "system", "content": prompt}, {"role": "user", "content": f"Question {round_}?"}]
        for round_ in range(ROWS_OF_EACH)
        for prompt in words
    ]


def test_shared_system_prompts_are_found_in_the_cache_more_often_than_in_file_order() -> None:
    port, found = free_port(), {}
    with host() as stack:
        worker = start_worker(stack, port, at_once=AT_ONCE, arguments=f"{CHAT_ARGUMENTS} {SMALL_CACHE}")
        for leg in ("file order", "job"):
            before = counts(port)
            if leg == "job":
                run_job(stack, lines_of(rows(leg)), max_output_tokens=TOKENS, temperature=0)
            else:
                asyncio.run(bare_loop(port, rows(leg), at_once=AT_ONCE, tokens=TOKENS))
            after = counts(port)
            hits, asked = (after[name] - before[name] for name in (b"hits", b"queries"))
            found[leg] = hits / asked
        worker.send_signal(signal.SIGTERM)
        worker.wait(120)
    print(found)
    assert found["job"] > found["file order"] + 0.3, found
