"""`jevcompat test` on both decision routes: every MUST passes, but for what the references contradict."""

import json
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from jevcompat.spec import REQUIREMENTS

CONTRADICTED = tomllib.loads(Path(__file__).with_name("contradicted.toml").read_text())["contradicted"]


@pytest.fixture(scope="session", params=["", "/realtime"], ids=["v1", "realtime-v1"])
def report(request, anex, tmp_path_factory) -> dict:
    written = tmp_path_factory.mktemp("jevcompat") / "report.json"
    options = ["--key", anex.key, "--model", anex.decision, "--json", str(written)]
    subprocess.run([sys.executable, "-m", "jevcompat.cli", "test", anex.origin + request.param, *options], check=False)
    return json.loads(written.read_text())


@pytest.mark.smoke
def test_nothing_stopped_the_suite(report) -> None:
    assert not report["aborted"]
    assert not report["case_errors"]
    assert not report["inconclusive"]
    # One of two applies, by whether keys are needed.
    assert set(report["summary"]["untested_musts"]) <= {"auth.ignored-when-off"}


@pytest.mark.smoke
def test_what_fails_of_the_musts_is_what_the_references_contradict(report, anex) -> None:
    failed = defaultdict(set)
    for result in report["results"]:
        if result["level"] == "MUST" and result["status"] == "fail":
            failed[result["id"]] |= {finding["case"] for finding in result["findings"]}
    contradicted = {
        entry["requirement"]: set(entry["cases"])
        for entry in CONTRADICTED
        if anex.decision in entry.get("models", [anex.decision])
    }
    assert failed == contradicted


def test_each_contradiction_names_a_must_and_its_reference() -> None:
    for entry in CONTRADICTED:
        assert REQUIREMENTS[entry["requirement"]].level == "MUST"
        assert entry["fact"]
        assert entry["reference"]
