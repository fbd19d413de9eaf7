import uuid

import pytest

from jobs.storage import keys

ID = uuid.UUID("11111111-2222-4333-8444-555555555555")


def test_every_key_made_here_is_valid_and_fits_its_column() -> None:
    made = [keys.upload(ID, ID), keys.part(ID, 2**63), keys.result(ID), keys.response_format(ID), keys.failure(ID)]
    assert all(keys.is_valid(key) and len(key) <= 200 for key in made)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        "..",
        "../a",
        "a/../b",
        "a/./b",
        ".hidden",
        "a/.b",
        "a\\b",
        "a\0",
        "a\n",
        "ü",
        "a" * 201,
    ],
)
def test_what_could_leave_a_folder_is_no_key(key: str) -> None:
    assert not keys.is_valid(key)


def test_attempts_never_share_a_key() -> None:
    assert keys.part(ID, 1) != keys.part(ID, 1)
    assert keys.result(ID) != keys.result(ID)


def test_everything_of_a_job_is_below_its_prefix() -> None:
    for key in (keys.part(ID, 1), keys.result(ID), keys.response_format(ID), keys.failure(ID)):
        assert key.startswith(keys.job_prefix(ID))
