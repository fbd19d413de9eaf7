"""A vLLM server is registered while it is healthy, restarted when it is not, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from django.db import connection

from inference.backends import registry
from inference.models import Backend
from tests.inference.scripted_server import ROOT
from tests.inference.vllm.conftest import FAST, eventually

pytestmark = pytest.mark.django_db(transaction=True)


def live():
    return registry.live("world")


def test_server_is_registered_with_its_version_only_once_it_is_healthy(host, running):
    running(concurrency=7)
    eventually(host.running)
    assert live() == []
    host.mark("healthy")
    [server] = eventually(live)
    assert (server.model_id, server.base_url, server.concurrency) == ("scripted", f"http://127.0.0.1:{host.port}/v1", 7)
    assert Backend.objects.get().version == "0.32.0"


def test_row_is_renewed_while_the_server_is_healthy(host, running):
    host.mark("healthy")
    running()
    eventually(live)
    first = Backend.objects.get().seen_at
    eventually(lambda: Backend.objects.get().seen_at > first)


def test_removed_row_is_registered_again(host, running):
    host.mark("healthy")
    running()
    eventually(live)
    Backend.objects.all().delete()
    eventually(live)


def test_crashed_server_is_withdrawn_and_restarted(host, running):
    host.mark("healthy")
    running(pace=FAST.__class__(look_s=0.02, restart_s=600, longest_restart_s=600))
    eventually(live)
    host.mark("crash")
    eventually(lambda: not host.running())
    eventually(lambda: live() == [])
    assert len(host.pids) == 1


def test_restarted_server_is_live_again(host, running):
    host.mark("healthy")
    running()
    eventually(live)
    host.mark("crash")
    eventually(lambda: len(host.pids) == 2 and live())
    assert len(host.running()) == 1


def test_server_that_never_becomes_healthy_is_started_again(host, running):
    running(pace=FAST.__class__(look_s=0.02, restart_s=0.01), ready_within_s=0.3)
    eventually(lambda: len(host.pids) >= 2)
    assert live() == []


def test_server_that_falls_silent_is_started_again(host, running):
    host.mark("healthy")
    running(pace=FAST.__class__(look_s=0.02, silence_s=0.3, restart_s=0.01))
    eventually(live)
    host.unmark("healthy")
    eventually(lambda: len(host.pids) >= 2)


def test_requests_in_work_are_finished_before_the_server_ends(host, running):
    host.mark("healthy")
    host.mark("busy")
    stop, thread = running()
    eventually(live)
    stop.set()
    eventually(lambda: live() == [])
    assert host.running()
    host.unmark("busy")
    thread.join(30)
    assert host.running() == []


def test_server_that_ignores_the_request_to_end_is_killed(host, running):
    host.mark("healthy")
    host.mark("stubborn")
    stop, thread = running(pace=FAST.__class__(look_s=0.02, end_s=0.2))
    eventually(live)
    stop.set()
    thread.join(30)
    assert host.running() == []


@contextmanager
def watcher(host, *arguments):
    """`manage.py engine` as a process of its own, on the database of the tests."""
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    command = [sys.executable, "manage.py", "engine", "scripted", "--weights", "/weights", "--port", str(host.port)]
    environment = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "anex.settings.test"}
    process = subprocess.Popen([*command, *arguments], cwd=ROOT, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_command_withdraws_and_ends_its_server_on_sigterm(host):
    host.mark("healthy")
    with watcher(host, "--vllm-args=--enforce-eager --max-num-seqs 32") as process:
        eventually(live)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert live() == []
    assert host.running() == []
    assert host.read("arguments")[-3:] == ["--enforce-eager", "--max-num-seqs", "32"]


def test_server_does_not_outlive_its_killed_watcher(host):
    host.mark("healthy")
    with watcher(host):
        eventually(live)
    eventually(lambda: host.running() == [])
