"""The embedded database heals what killed runs and reboots leave behind."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from anex.supervisor.postgres import Postgres
from anex.supervisor.process import StartError
from tests.supervisor.processes import wait_until_gone


@pytest.fixture
def state() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="anex-test-pg-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def answers(postgres: Postgres) -> bool:
    with psycopg.connect(postgres.url("postgres")) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


def test_a_pid_file_of_before_a_reboot_does_not_stop_the_start(state: Path) -> None:
    postgres = Postgres(state)
    postgres.start()
    lines = (postgres.data / "postmaster.pid").read_text().splitlines()
    postgres.stop()
    stranger = subprocess.Popen(["sleep", "600"], **postgres.options)
    try:
        (postgres.data / "postmaster.pid").write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
        again = Postgres(state)
        again.start()
        assert answers(again)
        again.stop()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_server_nobody_supervises_is_ended_first(state: Path) -> None:
    postgres = Postgres(state)
    postgres.prepare()
    orphan = subprocess.Popen(postgres.command(), stderr=subprocess.DEVNULL, start_new_session=True, **postgres.options)
    postgres.release()
    while not postgres.ready(orphan.pid):
        assert orphan.poll() is None
        os.sched_yield()

    again = Postgres(state)
    again.start()
    orphan.wait(10)
    assert answers(again)
    again.stop()


def test_a_half_made_cluster_is_made_again(state: Path) -> None:
    (state / "data").mkdir()
    (state / "data" / "base").mkdir()
    (state / "data.new").mkdir()
    (state / "data.new" / "PG_VERSION").write_text("18\n")
    postgres = Postgres(state)
    postgres.start()
    assert answers(postgres)
    postgres.stop()


def test_a_data_directory_in_use_is_a_sentence(state: Path) -> None:
    postgres = Postgres(state)
    postgres.start()
    with pytest.raises(StartError, match="Another process already runs the database"):
        Postgres(state).start()
    postgres.stop()


def test_a_path_too_long_for_a_socket_still_works(state: Path) -> None:
    deep = state / ("d" * 60) / ("e e" * 10)
    deep.mkdir(parents=True)
    postgres = Postgres(deep)
    postgres.start()
    assert answers(postgres)
    assert postgres.process is not None
    pid = postgres.process.pid
    postgres.process.send_signal(signal.SIGINT)
    postgres.stop()
    wait_until_gone(pid)
    shutil.rmtree(postgres.socket_dir, ignore_errors=True)
