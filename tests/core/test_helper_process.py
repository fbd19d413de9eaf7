"""A helper is started when it is asked, ends with a question that fails, and is replaced."""

import pytest

from anex.core.helper_process import HelperProcess, read_exactly
from inference.requests.schema_child import QUESTION, REPLY


@pytest.fixture
def helper():
    process = HelperProcess("inference.requests.schema_child")
    yield process
    process.close()


def ask(helper: HelperProcess) -> int:
    with helper.asked() as (to_child, from_child):
        to_child.write(QUESTION.pack(2, 0) + b"{}")
        to_child.flush()
        (length,) = REPLY.unpack(read_exactly(from_child, REPLY.size))
        return length


def test_one_child_answers_many_questions(helper: HelperProcess) -> None:
    assert ask(helper) == ask(helper) == 0


def test_a_question_that_raises_ends_the_child_and_the_next_starts_another(helper: HelperProcess) -> None:
    with pytest.raises(ZeroDivisionError), helper.asked():
        raise ZeroDivisionError
    assert ask(helper) == 0


def test_a_child_that_ended_is_an_end_of_file(helper: HelperProcess) -> None:
    with pytest.raises(EOFError), helper.asked() as (to_child, from_child):
        to_child.close()
        read_exactly(from_child, 1)
    assert ask(helper) == 0


def test_a_closed_helper_can_be_asked_again(helper: HelperProcess) -> None:
    ask(helper)
    helper.close()
    helper.close()
    assert ask(helper) == 0
