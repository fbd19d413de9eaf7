"""What `make audit` says and how it exits, from what pip-audit writes; nothing is asked of a network."""

import json

import pytest

from anex.bootstrap.audit import verdict

SOUND = {"name": "django", "version": "5.2.19", "vulns": []}
BROKEN = {
    "name": "urllib3",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"]}, {"id": "PYSEC-2", "fix_versions": []}],
}
UNKNOWN = {"name": "ours", "skip_reason": "Dependency not found on PyPI and could not be audited: ours (1)"}


def answer(*packages):
    return json.dumps({"dependencies": list(packages), "fixes": []})


def test_sound_packages_pass():
    assert verdict(answer(SOUND), "No known vulnerabilities found") == (
        0,
        ["1 packages checked, 0 known vulnerabilities"],
    )


def test_finding_fails_and_names_package_advisory_and_remedy():
    status, lines = verdict(answer(SOUND, BROKEN), "")
    assert status == 1
    assert lines == [
        "urllib3 1.0: PYSEC-1, mended in 1.1, 2.0",
        "urllib3 1.0: PYSEC-2, mended in no version yet",
        "2 packages checked, 2 known vulnerabilities",
    ]


def test_package_that_the_database_does_not_know_is_named_as_not_checked():
    assert verdict(answer(SOUND, UNKNOWN), "") == (
        0,
        ["1 packages checked, 0 known vulnerabilities", "not checked: ours"],
    )
    assert verdict(answer(BROKEN, UNKNOWN), "")[0] == 1


@pytest.mark.parametrize(
    "error",
    [
        "requests.exceptions.ProxyError: HTTPSConnectionPool(host='x', port=443): Max retries exceeded",
        "requests.exceptions.ConnectTimeout: timed out",
        "urllib3.exceptions.NameResolutionError: Failed to resolve 'x'",
        "requests.exceptions.HTTPError: 503 Server Error",
    ],
)
def test_database_out_of_reach_is_said_and_is_no_failure(error):
    status, lines = verdict("", f"Traceback (most recent call last):\n{error}")
    assert status == 0
    assert lines == ["not checked: no database of advisories can be reached from here"]


def test_database_that_knows_nothing_has_checked_nothing():
    status, lines = verdict(answer(UNKNOWN), "")
    assert (status, lines[0].startswith("not checked: ")) == (0, True)


@pytest.mark.parametrize("output", ["", "[]", "{", "null", '{"fixes": []}'])
def test_any_other_failure_is_none_of_both(output):
    assert verdict(output, "usage: …\nerror: unrecognized arguments") == (
        2,
        ["the audit failed: error: unrecognized arguments"],
    )
