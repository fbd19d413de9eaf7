"""A bare batch runner, which the pipeline is measured beside: asyncio, aiohttp and nothing that a platform needs.

    python -m tests.bench.batch.floor FILE URL CONCURRENCY

Reads each row, posts its body, reads the usage of the answer and writes a result line beside the file; as little as a
script may do that wants the same results. Prints what it took as JSON.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import BinaryIO

import aiohttp
import msgspec
import uvloop


class _Row(msgspec.Struct):
    custom_id: str
    body: msgspec.Raw


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int


class _Answer(msgspec.Struct):
    usage: _Usage


_row = msgspec.json.Decoder(_Row).decode
_answer = msgspec.json.Decoder(_Answer).decode


class Floor:
    """One pass over a file."""

    def __init__(self, source: BinaryIO, result: BinaryIO, url: str) -> None:
        self._source = source
        self._result = result
        self._url = url
        self.rows = self.tokens = 0

    async def run(self, concurrency: int) -> None:
        """Every row once, `concurrency` of them at a time."""
        session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        async with session, asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(self._take_rows(session))

    async def _take_rows(self, session: aiohttp.ClientSession) -> None:
        headers = {"Content-Type": "application/json"}
        for line in self._source:
            row = _row(line)
            async with session.post(self._url, data=bytes(row.body), headers=headers) as response:
                status, body = response.status, await response.read()
            usage = _answer(body).usage
            self.tokens += usage.prompt_tokens + usage.completion_tokens
            self._result.write(
                b'{"custom_id":"%b","response":{"status_code":%d,"body":%b},"error":null,"error_type":null}\n'
                % (row.custom_id.encode(), status, body)
            )
            self.rows += 1


def main() -> None:
    """Run once."""
    path, url, concurrency = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    with path.open("rb", buffering=1 << 20) as source, path.with_suffix(".floor").open("wb", 1 << 20) as result:
        floor = Floor(source, result, url)
        began, before = time.perf_counter(), os.times()
        uvloop.run(floor.run(concurrency))
        seconds, after = time.perf_counter() - began, os.times()
    cpu = after.user + after.system - before.user - before.system
    print(json.dumps({"rows": floor.rows, "tokens": floor.tokens, "seconds": seconds, "cpu": cpu}))


if __name__ == "__main__":
    main()
