"""`python -m tests.supervisor.driver STATE`: real Postgres and Valkey and a stand-in, under the real supervisor.

Prints the process ids once everything is ready, then runs until it is told to stop.
"""

import asyncio
import sys
from pathlib import Path

import psycopg

from anex.supervisor.children import Service, Supervisor
from anex.supervisor.postgres import Postgres
from anex.supervisor.process import StartError
from anex.supervisor.services import handles_sigterm, postgres_service, valkey_service
from anex.supervisor.state import State
from anex.supervisor.valkey import Valkey
from tests.supervisor.processes import entries, stand_in


async def run(state: State) -> None:
    supervisor = Supervisor(state.logs, report=print)
    supervisor.catch_signals()
    postgres, valkey = Postgres(state.directory / "postgres"), Valkey(state.directory / "valkey")
    journal = state.directory / "journal"
    journal.unlink(missing_ok=True)
    worker = Service("worker", lambda: stand_in("worker", journal), handles_sigterm)
    try:
        await supervisor.until_ended(show(supervisor, postgres, valkey, worker, state))
        await supervisor.ended.wait()
    finally:
        await supervisor.stop()
        state.withdraw()
        postgres.release()


async def show(supervisor: Supervisor, postgres: Postgres, valkey: Valkey, worker: Service, state: State) -> None:
    postgres.prepare()
    valkey.prepare()
    await supervisor.start(postgres_service(postgres), valkey_service(valkey))
    postgres.create_database("anex")
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS runs (id serial)")
        connection.execute("INSERT INTO runs DEFAULT VALUES")
        runs = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    await supervisor.start(worker)
    state.publish({"DATABASE_URL": postgres.url()})
    journal = state.directory / "journal"
    while len(entries(journal, "started")) < 1:
        await asyncio.sleep(0.01)
    pids = [process.pid for process in supervisor._processes.values()]
    print("ready", runs, *{*pids, *[pid for _, pid in entries(journal, "started")]}, flush=True)


if __name__ == "__main__":
    state = State(Path(sys.argv[1]))
    try:
        state.take()
        asyncio.run(run(state))
    except StartError as error:
        sys.exit(str(error))
