"""A helper is started when it is asked, ends with a question that fails, and is replaced."""

import os
import signal
from typing import IO

import pytest

from anex.core.helper_process import HelperProcess, read_exactly
from inference.requests.schema_child import QUESTION, REPLY


@pytest.fixture
def helper():
    process = HelperProcess("inference.requests.schema_child", limit_s=30)
    yield process
    process.close()


def question(to_child: IO[bytes], from_child: IO[bytes]) -> int:
    to_child.write(QUESTION.pack(2, 0) + b"{}")
    to_child.flush()
    (length,) = REPLY.unpack(read_exactly(from_child, REPLY.size))
    return int(length)


def child_of(helper: HelperProcess) -> int:
    assert helper._process
    return helper._process.pid


def test_one_child_answers_many_questions(helper: HelperProcess) -> None:
    assert helper.ask(question) == 0
    first = child_of(helper)
    assert helper.ask(question) == 0
    assert child_of(helper) == first


def test_a_question_that_raises_ends_the_child_and_the_next_starts_another(helper: HelperProcess) -> None:
    def fail(to_child: IO[bytes], from_child: IO[bytes]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        helper.ask(fail)
    assert helper.ask(question) == 0


def test_a_question_that_ends_the_child_is_asked_once(helper: HelperProcess) -> None:
    asked = []

    def end(to_child: IO[bytes], from_child: IO[bytes]) -> None:
        asked.append(child_of(helper))
        os.kill(asked[-1], signal.SIGPROF)
        read_exactly(from_child, 1)

    with pytest.raises(EOFError):
        helper.ask(end)
    assert len(asked) == 1
    assert helper.ask(question) == 0


@pytest.mark.parametrize("always", [False, True])
def test_a_child_that_is_killed_under_a_question_is_replaced_once(helper: HelperProcess, always: bool) -> None:
    asked = []

    def kill(to_child: IO[bytes], from_child: IO[bytes]) -> int:
        asked.append(child_of(helper))
        if always or len(asked) == 1:
            os.kill(asked[-1], signal.SIGKILL)
        return question(to_child, from_child)

    if always:
        with pytest.raises(EOFError):
            helper.ask(kill)
    else:
        assert helper.ask(kill) == 0
    assert len(set(asked)) == 2


def test_a_child_that_hangs_is_replaced() -> None:
    helper = HelperProcess("inference.requests.schema_child", limit_s=1)
    stopped = []

    def stop(to_child: IO[bytes], from_child: IO[bytes]) -> int:
        if not stopped:
            stopped.append(child_of(helper))
            os.kill(stopped[0], signal.SIGSTOP)
        return question(to_child, from_child)

    assert helper.ask(stop) == 0
    assert child_of(helper) != stopped[0]
    helper.close()


def test_a_closed_helper_can_be_asked_again(helper: HelperProcess) -> None:
    helper.ask(question)
    helper.close()
    helper.close()
    assert helper.ask(question) == 0
