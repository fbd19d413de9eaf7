"""Children that check an input: the same verdict as one process comes to, none when one dies, none left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

import pytest

from anex.core.errors import Unavailable
from inference.catalogue import get
from inference.requests.options import RowOptions
from jobs.run import check_child, checkers, validation
from jobs.run.checkers import CheckerLost, check_spans
from jobs.run.cutting import Cutter
from jobs.run.drawing import Sampler
from jobs.run.duplicates import find_duplicates
from jobs.run.scope import Scope
from jobs.storage.interface import ObjectChanged, StoreUnavailable
from jobs.storage.local import LocalStore
from tests.jobs.run.children import AwayFrom, children_of_this_process, is_alive
from tests.jobs.run.driver import chat_line
from tests.jobs.run.test_pump import wait_until

ROWS = 1500
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _children(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(checkers, "SPAN_BYTES", 30_000)
    monkeypatch.setattr(checkers, "cores", lambda: 2)
    yield
    assert children_of_this_process() == []


def scope_of(folder: Path, lines: list[str], kind: type[LocalStore] = LocalStore) -> Scope:
    store = kind(folder, region="world", public_url="", secret="s")
    stored = store.put("inputs/x", "\n".join(lines).encode())
    model = get("scripted")
    assert model is not None
    return Scope(store, stored.key, stored.etag, stored.size, model, RowOptions(max_output_tokens=16))


def verdict(scope: Scope) -> Any:
    """What a check comes to, duplicates included."""
    cutter, sampler = Cutter(scope), Sampler(8, seed=3)
    checked = validation._check(scope, cutter, sampler, lambda: None)
    repeated = (
        find_duplicates(scope, checked.id_hashes, cutter.cuts, pulse=lambda: None) if not checked.problems else []
    )
    return checked.problems, repeated, checked.rows, checked.input_tokens, cutter.cuts, sampler.rows


FILES = {
    "good": [chat_line(f"r{n}", "x " * (n % 50)) for n in range(ROWS)],
    "problems": [chat_line(f"r{n}") if n % 9 else "null" for n in range(ROWS)],
    "duplicates": [chat_line(f"r{n % 1000}") for n in range(ROWS)],
}


@pytest.mark.parametrize("name", FILES)
def test_children_come_to_what_one_process_comes_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    scope = scope_of(tmp_path, FILES[name])
    found = verdict(scope)
    assert (len(found[0]), len(found[1])) == {"good": (0, 0), "problems": (100, 0), "duplicates": (0, 100)}[name]
    monkeypatch.setattr(checkers, "SMALL_SPANS", 10**6)
    assert verdict(scope) == found or (name == "problems" and verdict(scope)[0] == found[0])


def test_a_killed_child_leaves_no_verdict(tmp_path: Path) -> None:
    def kill() -> None:
        os.kill(children_of_this_process()[0], signal.SIGKILL)

    with pytest.raises(CheckerLost):
        list(check_spans(scope_of(tmp_path, FILES["good"]), pulse=kill))


def test_a_stopped_child_holds_no_check_up_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkers, "SILENCE_SECONDS", 2)
    stopped: list[int] = []

    def stop() -> None:
        if not stopped:
            stopped.append(children_of_this_process()[0])
            os.kill(stopped[0], signal.SIGSTOP)

    with pytest.raises(CheckerLost):
        list(check_spans(scope_of(tmp_path, FILES["good"]), pulse=stop))
    assert not is_alive(stopped[0])


def test_a_child_that_takes_long_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_child, "SIGN_SECONDS", 0)
    mine, theirs = Pipe()
    with mine, theirs:
        check_child._signs_of_life(theirs)()
        assert checkers._receive(mine) is None


def test_what_keeps_a_child_from_checking_reaches_its_parent(tmp_path: Path) -> None:
    scope = scope_of(tmp_path, FILES["good"], AwayFrom)
    with pytest.raises(StoreUnavailable, match="away"):
        list(check_spans(scope, pulse=lambda: None))
    with pytest.raises(ObjectChanged):
        list(check_spans(replace(scope, etag="other"), pulse=lambda: None))
    uncounted = get("qwen3-14b")
    assert uncounted is not None
    with pytest.raises(Unavailable, match="cannot be counted"):
        list(check_spans(replace(scope, model=uncounted), pulse=lambda: None))


def test_a_check_that_is_told_to_stop_ends_its_children(tmp_path: Path) -> None:
    pulses = 0

    def stop() -> None:
        nonlocal pulses
        pulses += 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(check_spans(scope_of(tmp_path, FILES["good"]), pulse=stop))
    assert pulses == 1


def test_children_die_with_a_killed_parent(tmp_path: Path) -> None:
    scope = scope_of(tmp_path, FILES["good"])
    arguments = [str(tmp_path), scope.key, scope.etag, str(scope.size_bytes)]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.jobs.run.check_driver", *arguments], cwd=ROOT, stdout=subprocess.PIPE
    ) as driver:
        assert driver.stdout
        children = [int(child) for child in driver.stdout.readline().split()]
        driver.kill()
    assert len(children) == 2
    wait_until(lambda: not any(map(is_alive, children)))


def test_a_child_loads_no_framework() -> None:
    code = "import sys, jobs.run.check_child; print('django.db' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"False\n"
