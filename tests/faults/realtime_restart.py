"""The scene of test_realtime_restart.py, in a process of its own: its database is killed under 64 clients.

Exits 1 with an AssertionError where a request was answered and not charged, charged and not answered, or had to wait.
"""

import asyncio
import signal
import sys
import time
from typing import Any

from tests.bench.admission import own_database, prepare

KILLS = 1
CLIENTS = 64


async def play(header: str, postgres: Any) -> int:
    """Clients for as long as it takes; returns how many requests were answered."""
    from anex.core.errors import Unavailable
    from realtime.till import Till
    from tests.realtime.tills import CARD, MOST, USED

    till = Till()
    await till.open()
    told = {"answered": 0, "away": 0, "waited": 0.0, "starting": 0.0}
    over = asyncio.Event()

    async def client() -> None:
        while not over.is_set():
            started = time.monotonic()
            try:
                with await till.admit(header, surface="chat", card=CARD, most=MOST) as meter:
                    await asyncio.sleep(0.01)
                    meter.report(USED)
                told["answered"] += 1
            except Unavailable as error:
                assert error.retry_after
                told["away"] += 1
                told["waited"] = max(told["waited"], time.monotonic() - started)
                await asyncio.sleep(0.05)

    async def served() -> None:
        before = told["answered"]
        while told["answered"] < before + CLIENTS:
            await asyncio.sleep(0.05)

    clients = [asyncio.create_task(client()) for _ in range(CLIENTS)]
    async with asyncio.timeout(60):
        for _ in range(KILLS):
            await served()
            postgres.process.send_signal(signal.SIGKILL)
            postgres.process.wait()
            postgres.release()
            await asyncio.sleep(0.5)
            began = time.monotonic()
            postgres.start()
            told["starting"] += time.monotonic() - began
            async with asyncio.timeout(10):
                await served()
        over.set()
        await asyncio.gather(*clients)
    await till.close(patience_s=60)
    # No client is heard while this thread starts the server.
    assert told["waited"] - told["starting"] < 5, told
    return int(told["answered"])


def main() -> None:
    """Prepare, play, compare."""
    with own_database() as postgres:
        key = prepare(1)[0]
        from django.db import connection

        connection.close()
        answered = asyncio.run(play(key.header, postgres))
        from accounts.models import Organization
        from billing.models import Transfer
        from tests.realtime.tills import check_books

        charges = Transfer.objects.filter(kind="charge").count()
        assert charges == answered, f"{charges} charges for {answered} answers"
        check_books(Organization.objects.get())
        print(f"{answered} answered and charged")


if __name__ == "__main__":
    sys.exit(main())
