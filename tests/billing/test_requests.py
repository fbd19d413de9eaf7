"""What a realtime request may cost, and what is believed of what it is said to have used."""

from dataclasses import astuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.callers import EVERY_SCOPE, Caller
from anex.core.errors import NotServed
from anex.core.usage import Usage
from billing import requests
from billing.pricing import row_cost_nano
from billing.requests import Asked
from tests.realtime.tills import CARD

counts = st.integers(-10, 10**7)
usages = st.builds(Usage, input_tokens=counts, cached_tokens=counts, output_tokens=counts, images=counts)


def most(**changes):
    return requests.bound(
        **({"body_bytes": 1_000, "messages": 2, "output_cap": 50, "context_tokens": 32_768} | changes)
    )


def test_bound_is_the_bytes_and_what_a_template_adds():
    assert most() == Usage(input_tokens=1_000 + 512 + 64, output_tokens=50)


def test_bound_is_never_above_what_the_model_reads():
    assert most(body_bytes=10**9, output_cap=10**6) == Usage(input_tokens=32_768, output_tokens=32_768)


def test_bound_counts_media_as_they_are_sent():
    media = Usage(input_tokens=560, images=2, video_ms=10)
    assert most(media=media) == Usage(input_tokens=1_000 + 576 + 560, output_tokens=50, images=2, video_ms=10)


def test_a_free_request_still_holds_something():
    assert requests.hold_nano(CARD, Usage()) == 1


def test_model_sold_in_batch_alone_is_not_served():
    with pytest.raises(NotServed, match="'scripted' is not served in realtime"):
        requests.hold_nano(CARD, Usage(images=1))


@given(usages, st.integers(0, 10**7), st.integers(0, 10**6), st.integers(0, 10**5))
def test_no_report_costs_more_than_was_held(reported, body_bytes, messages, cap):
    bound = most(body_bytes=body_bytes, messages=messages, output_cap=cap)
    believed = requests.believed(reported, bound)
    assert all(part >= 0 for part in astuple(believed))
    assert believed.cached_tokens <= believed.input_tokens
    assert row_cost_nano(CARD, believed, "realtime") <= requests.hold_nano(CARD, bound)


@given(st.integers(0, 10**7), st.integers(0, 10**9))
def test_own_count_stays_within_the_hold_and_is_never_free(body_bytes, pieces):
    bound = most(body_bytes=body_bytes)
    counted = requests.own_count(bound, pieces=pieces)
    assert 0 < row_cost_nano(CARD, counted, "realtime") <= requests.hold_nano(CARD, bound)


def test_possible_report_is_believed_as_it_is():
    used = Usage(input_tokens=100, cached_tokens=80, output_tokens=20)
    assert requests.believed(used, most()) == used


def test_verdict_that_the_caller_contradicts_is_an_error_of_ours():
    asked = Asked("s", "chat", "text:write", "chat", "scripted", 1)
    with pytest.raises(ValueError, match="no verdict"):
        requests.refusal({"why": "scope"}, asked, Caller("k", UUID(int=0), EVERY_SCOPE), card=None, today=None)
