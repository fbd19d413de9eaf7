"""Run the suites of the clients named on the command line, or of all: against the scripted engine whole, their smoke
tests against the models of `make demo`, and what they have for it on /openai/v1. What follows `--` goes to pytest or to
Node. Exit 1 when any failed.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.clients import installs, served
from tests.clients.installs import CACHE, PAGE, SUITES, Client, InstallFailed

MOST_SECONDS = 900
# What of a suite runs with a set of models; all of it with any other.
KINDS = {"local": "smoke", "second": "second"}


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one suite with one set of models."""

    client: Client
    models: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    trouble: str = ""

    @property
    def good(self) -> bool:
        """Whether something ran and nothing failed."""
        return bool(self.passed) and not self.failed and not self.trouble


def main(arguments: list[str]) -> int:
    """Install, start, run, tell."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    own, more = arguments[:end], arguments[end + 1 :]
    known = installs.find()
    parser = argparse.ArgumentParser(prog="make test-clients ARGS=", description=__doc__)
    parser.add_argument("client", nargs="*", help=f"of: {', '.join(known)}")
    named = parser.parse_args(own).client or list(known)
    if unknown := sorted(set(named) - set(known)):
        parser.error(f"there is no client {unknown[0]}; there are: {', '.join(known)}")
    CACHE.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    ready = [known[name] for name in named if _installs(known[name], results)]
    with tempfile.TemporaryDirectory(prefix="anex-clients-", dir="/var/tmp") as folder:
        state = Path(folder)
        with served.running(state, CACHE / "models") as platform:
            for client in ready:
                results += [
                    _run(client, models, told, more)
                    for models, told in platform.environments.items()
                    if models not in KINDS or client.has(KINDS[models])
                ]
            left = platform.left_in_flight()
        good = bool(results) and all(result.good for result in results) and not left
        if not good:
            _keep_logs(state)
    _tell(results)
    print(f"{left} requests were left in flight" if left else "nothing was left in flight or held")
    return 0 if good else 1


def _installs(client: Client, results: list[Result]) -> bool:
    print(f"installing {client.name}: {client.version}", flush=True)
    try:
        installs.install(client)
    except InstallFailed as failure:
        print(failure, flush=True)
        results.append(Result(client, "-", trouble="not installed"))
        return False
    return True


def _run(client: Client, models: str, told: Mapping[str, str], more: list[str]) -> Result:
    print(f"\n{client.name}, {models} models", flush=True)
    report = client.place / f"results-{models}.xml"
    report.unlink(missing_ok=True)
    command = _node_command if client.on_node else _pytest_command
    try:
        done = subprocess.run(
            command(client, report, KINDS.get(models), more),
            cwd=client.place,
            env={**told, "ANEX_CLIENT": client.folder.name},
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Result(client, models, trouble=f"not done after {MOST_SECONDS} s")
    if not report.is_file():
        return Result(client, models, trouble=f"no report, exit status {done.returncode}")
    result = _read(client, models, report)
    return result if result.failed or not done.returncode else Result(client, models, trouble="no test that passed")


def _pytest_command(client: Client, report: Path, kind: str | None, more: list[str]) -> list[str]:
    python = client.place / "bin" / "python"
    options = ["-c", str(SUITES / "pytest.ini"), f"--junit-xml={report}", *(("-m", kind) if kind else ())]
    return [str(python), "-m", "pytest", *options, str(client.folder), str(SUITES / "test_page.py"), *more]


def _node_command(client: Client, report: Path, kind: str | None, more: list[str]) -> list[str]:
    outputs = [("spec", "stdout"), ("junit", str(report))]
    reporters = [f"--test-reporter{part}" for kind, to in outputs for part in (f"={kind}", f"-destination={to}")]
    # Those for /openai/v1 are others once more.
    others = (path.name for path in client.folder.glob("*.test.mjs") if path.name != "second.test.mjs")
    files = [f"{kind}.test.mjs"] if kind else sorted([*others, PAGE.name])
    # One file after the other: together they would have too much in flight.
    return [str(installs.node()), "--test", "--test-concurrency=1", *reporters, *more, *files]


def _read(client: Client, models: str, report: Path) -> Result:
    cases = list(ET.parse(report).iter("testcase"))
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    return Result(client, models, len(cases) - failed - skipped, failed, skipped)


def _keep_logs(state: Path) -> None:
    for log in state.glob("*.log"):
        shutil.copy(log, CACHE)
    print(f"\nThe logs of the platform are in {CACHE}.")


def _tell(results: list[Result]) -> None:
    print(f"\n{'client':<20}{'version':<36}{'models':<10}{'passed':>7}{'failed':>7}{'skipped':>8}")
    for result in results:
        counts = f"{result.passed:>7}{result.failed:>7}{result.skipped:>8}"
        line = f"{result.client.name:<20}{result.client.version:<36}{result.models:<10}"
        print(line + (f" {result.trouble}" if result.trouble else counts))
    passed, failed = (sum(getattr(result, name) for result in results) for name in ("passed", "failed"))
    print(f"\n{passed} passed, {failed + sum(bool(result.trouble) for result in results)} failed")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
