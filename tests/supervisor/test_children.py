"""The supervisor with stand-in children: order, restarts, failures, nothing left behind."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from anex.supervisor.children import Service, Supervisor, together
from anex.supervisor.process import StartError
from anex.supervisor.services import handles_sigterm
from tests.supervisor.processes import entries, stand_in, wait_until_gone


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(tmp_path: Path, said: list[str]) -> Supervisor:
    return Supervisor(tmp_path, report=said.append)


def service(name: str, journal: Path, manner: str = "", **fields) -> Service:
    async def ready(pid: int) -> bool:
        return await handles_sigterm(pid) and bool(entries(journal, "started"))

    return Service(name, lambda: stand_in(name, journal, manner), fields.pop("ready", ready), **fields)


async def test_groups_start_in_order_and_stop_in_reverse(supervisor: Supervisor, tmp_path: Path) -> None:
    journal = tmp_path / "journal"

    async def started(pid: int) -> bool:
        return any(pid == known for _, known in entries(journal, "started"))

    await supervisor.start(service("database", journal, ready=started))
    await supervisor.start(service("web", journal, ready=started), service("worker", journal, ready=started))
    await supervisor.stop()

    assert entries(journal, "started")[0][0] == "database"
    assert entries(journal, "stopped")[-1][0] == "database"
    assert len(entries(journal, "stopped")) == 3


async def test_a_child_that_ends_by_itself_is_started_again(
    supervisor: Supervisor, tmp_path: Path, said: list[str]
) -> None:
    journal = tmp_path / "journal"
    await supervisor.start(service("worker", journal))
    (_, first), *_ = entries(journal, "started")

    os.kill(first, signal.SIGKILL)

    async def again() -> None:
        while len(entries(journal, "started")) < 2:
            await asyncio.sleep(0.01)

    await supervisor.until_ended(again())
    await supervisor.stop()

    assert said == ["The worker ended (status -9) and is started again."]
    assert supervisor.failure == ""


async def test_a_child_that_keeps_ending_ends_the_run_with_a_sentence(supervisor: Supervisor, tmp_path: Path) -> None:
    async def at_once(_pid: int) -> bool:
        return True

    await supervisor.start(service("web", tmp_path / "journal", "dies", ready=at_once))
    await supervisor.ended.wait()
    await supervisor.stop()

    assert supervisor.failure == f"The web keeps ending. It said nothing; its log is {tmp_path / 'web.log'}"


async def test_a_child_that_ends_while_it_starts_is_a_sentence_naming_its_log(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    async def never(_pid: int) -> bool:
        return False

    with pytest.raises(StartError, match=r"The model server ended while it started\..*model-server\.log"):
        await supervisor.start(service("model server", tmp_path / "journal", "dies", ready=never))
    await supervisor.stop()


async def test_a_child_that_is_never_ready_is_a_sentence(supervisor: Supervisor, tmp_path: Path) -> None:
    async def never(_pid: int) -> bool:
        return False

    with pytest.raises(StartError, match="The web was not ready in 0 s"):
        await supervisor.start(service("web", tmp_path / "journal", ready=never, start_timeout_s=0.2))
    await supervisor.stop()


async def test_a_child_that_ignores_its_stop_signal_is_killed_with_its_own_children(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    await supervisor.start(
        service("stubborn", journal, "stubborn", grace_s=0.3), service("family", journal, "parent", grace_s=5)
    )
    await supervisor.stop()

    pids = [pid for _, pid in entries(journal, "started")]
    assert len(pids) >= 2
    wait_until_gone(*pids)


async def test_a_failed_command_is_a_sentence_and_its_output_is_in_the_log(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    with pytest.raises(StartError, match=r"The step 'migrate' failed\. It said: the reason \(more in .*migrate\.log\)"):
        await supervisor.run("migrate", ["/bin/sh", "-c", "echo the reason; exit 1"], {})

    assert "the reason" in (tmp_path / "migrate.log").read_text()


async def test_work_is_dropped_when_the_run_ends(supervisor: Supervisor) -> None:
    async def work() -> str:
        supervisor.ended.set()
        await never.wait()
        return "finished"

    never = asyncio.Event()

    assert await supervisor.until_ended(work()) is None


async def test_the_first_failure_drops_the_other_works() -> None:

    dropped: list[str] = []

    async def patient() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            dropped.append("patient")
            raise

    async def failing() -> None:
        raise StartError("a sentence")

    with pytest.raises(StartError, match="a sentence"):
        await together(patient(), failing())

    assert dropped == ["patient"]
