"""Requests are sent again at random while everything they depend on dies at random: no key is charged twice."""

import asyncio
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.sizes import sized
from tests.stack import Stack

REQUESTS = sized(400, 1_000)
CLIENTS = 24
FAULTS = ("--fail-every", "23", "--drop-every", "29", "--cut-every", "31")
# Every key asks for another number of bytes, so its holds have an amount of their own.
CHARGES = """
SELECT h.amount_nano, count(*) FROM billing_hold h WHERE h.captured_nano > 0 GROUP BY h.amount_nano
"""
DETAILS = """
SELECT h.amount_nano, h.source, h.captured_nano, u.status, h.lost_at, k.is_derived, k.tries
FROM billing_hold h LEFT JOIN billing_usagerecord u USING (source) LEFT JOIN billing_requestkey k USING (source)
WHERE h.amount_nano IN
"""
BOOKS = """
SELECT a.in_flight, a.held_nano, (SELECT count(*) FROM billing_hold WHERE settled_at IS NULL),
    (SELECT coalesce(sum(amount_nano), 0)::bigint FROM billing_transfer WHERE kind = 'charge' AND debit_id = a.id),
    (SELECT coalesce(sum(amount_nano), 0)::bigint FROM billing_usagerecord),
    (SELECT sum(captured_nano)::bigint FROM billing_hold)
FROM billing_account a JOIN accounts_organization o ON o.id = a.organization_id
"""
# As if every process had been silent for long: what is in flight is lost, and comes late where they are not dead.
REAP = "SELECT count(*) FROM billing_realtime_reap_v1(30, clock_timestamp() + interval '31 seconds')"


class Load:
    """Clients that send requests until there were enough and everything has died once, each again until it is answered
    or its key is used up."""

    def __init__(self, stack: Stack, chance: random.Random) -> None:
        self.chance = chance
        self.seen: Counter[str] = Counter()
        self.answers: dict[int, set[str]] = {}
        self.sent = self.keys = 0
        self.disturbed = False
        self.client = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{stack.web_port}",
            headers={"Authorization": f"Bearer {stack.secret}", "Connection": "close"},
            timeout=20,
        )

    @property
    def goes_on(self) -> bool:
        """Whether there is more to send."""
        return self.sent < REQUESTS or not self.disturbed

    async def run(self) -> None:
        """One key after the other."""
        while self.goes_on:
            self.keys += 1
            await self._use(self.keys)

    async def _use(self, number: int) -> None:
        chance = self.chance
        path = chance.choice(["/v1/chat/completions", "/openai/v1/chat/completions"])
        named = path.startswith("/v1") or chance.random() < 0.5
        stream = chance.random() < 0.4
        text = f"[[tokens {chance.randrange(10, 30)}]] [[pace {chance.randrange(16):02}]] {'x' * number}"
        body = {
            "model": "scripted",
            "max_tokens": 40,
            "messages": [{"role": "user", "content": text}],
            "stream": stream,
        }
        headers = {"Idempotency-Key": f"key {number}"} if named else {}
        # Whoever leaves a stream of a derived key has given up its answer.
        leaves = named or not stream
        for _ in range(12):
            several = 1 + (chance.random() < 0.4)
            ends = await asyncio.gather(
                *(self._send(number, path, body, headers, leaves=leaves) for _ in range(several))
            )
            if {"200", "key_settled"} & set(ends) and chance.random() < 0.7:
                return
            await asyncio.sleep(chance.uniform(0, 0.1))

    async def _send(
        self, number: int, path: str, body: dict[str, Any], headers: dict[str, str], *, leaves: bool
    ) -> str:
        self.sent += 1
        patience = self.chance.uniform(0.01, 0.3) if leaves and self.chance.random() < 0.3 else 20
        try:
            async with asyncio.timeout(patience):
                answer = await self.client.post(path, json=body, headers=headers)
            end = self._end(number, answer, stream=body["stream"])
        except TimeoutError:
            end = "left"
        except httpx.HTTPError:
            end = "connection"
        self.seen[end] += 1
        return end

    def _end(self, number: int, answer: httpx.Response, *, stream: bool) -> str:
        if answer.status_code != 200:
            return str(answer.json()["error"]["code"])
        if stream and ('"error"' in answer.text or not answer.text.endswith("data: [DONE]\n\n")):
            return "broken stream"
        told = answer.text if stream else answer.json()
        if not stream and "error" in told:
            return "error under a 200"
        self.answers.setdefault(number, set()).add(told.split('"', 4)[3] if stream else told["id"])
        return "200"


async def disturb(stack: Stack, chance: random.Random, load: Load) -> None:
    """Something dies every moment, and comes back."""

    async def kill_web() -> None:
        name = chance.choice(["web", "web-2"])
        stack.kill(name)
        (stack.state / f"{name}.log").unlink()
        stack.start_web(name)
        await asyncio.to_thread(stack.wait_for_web, name, 90)

    async def kill_database() -> None:
        assert stack.postgres.process
        stack.postgres.process.send_signal(signal.SIGKILL)
        stack.postgres.process.wait()
        stack.postgres.release()
        # A server ends with the thread that started it.
        stack.postgres.start()

    async def forget_answers() -> None:
        stack.valkey.stop()
        stack.valkey.start()

    ways: list[Callable[[], Awaitable[None]]] = [kill_web, kill_web, kill_database, forget_answers]
    while load.goes_on:
        for way in chance.sample(ways, len(ways)):
            await asyncio.sleep(chance.uniform(0.1, 0.5))
            load.seen[f"({way.__name__})"] += 1
            await way()
        load.disturbed = True


async def lose(stack: Stack, chance: random.Random, load: Load) -> None:
    """Again and again every process is taken for dead."""
    while load.goes_on:
        await asyncio.sleep(chance.uniform(0.1, 0.6))
        with suppress(psycopg.OperationalError):
            load.seen["(lost)"] += (await asyncio.to_thread(stack.query, REAP))[0][0]


@pytest.mark.slow
def test_requests_sent_again_at_random_charge_each_key_at_most_once() -> None:
    seed = int(os.environ.get("SEED", "0")) or random.randrange(1, 10**6)
    chance = random.Random(seed)

    async def play(stack: Stack) -> Load:
        load = Load(stack, chance)
        async with load.client, asyncio.timeout(300):
            clients = [asyncio.create_task(load.run()) for _ in range(CLIENTS)]
            await asyncio.gather(*clients, disturb(stack, chance, load), lose(stack, chance, load))
        return load

    with (
        tempfile.TemporaryDirectory(dir="/var/tmp") as folder,
        Stack(Path(folder), workers=0, engine_options=FAULTS) as stack,
    ):
        stack.query("UPDATE accounts_organization SET in_flight_limit = 100 RETURNING id")
        stack.start_web("web-2")
        stack.wait_for_web("web-2")
        load = asyncio.run(play(stack))
        for name in ("web", "web-2"):
            stack.processes[name].send_signal(signal.SIGTERM)
            stack.processes[name].wait(40)
        deadline = time.monotonic() + 5
        while stack.query(REAP)[0][0] and time.monotonic() < deadline:
            time.sleep(0.05)
        charged = Counter(dict(stack.query(CHARGES)))
        print(f"seed {seed}: {load.sent} requests under {load.keys} keys, {len(charged)} charged; {dict(load.seen)}")
        twice = stack.query(f"{DETAILS} {tuple([0, 0, *(amount for amount in charged if charged[amount] > 1)])}")
        assert not twice, f"seed {seed}: {twice}"
        assert len(charged) <= load.keys
        ((in_flight, held, holds, paid, recorded, captured),) = stack.query(BOOKS)
        assert (in_flight, held, holds, paid) == (0, 0, 0, recorded), f"seed {seed}"
        assert paid == captured
        # What was answered more than once under a key is the same answer, but for one that was lost in between.
        assert sum(len(ids) > 1 for ids in load.answers.values()) < load.keys / 4
