"""`make upgrade-check`: the code of the last release works on the schema of this one, as an upgrade needs it to."""

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from anex.supervisor.postgres import Postgres
from tests import clusters

# Of tests/services.py, whose import starts services.
TEMPLATE: Final = "ANEX_TEST_TEMPLATE"
ALL: Final = ("tests/billing", "tests/jobs", "tests/realtime")
# What moves money and rows, in a few minutes.
SHORT: Final = (
    "tests/billing/test_holds.py",
    "tests/billing/test_ledger.py",
    "tests/billing/test_grants.py",
    "tests/billing/test_requests.py",
    "tests/jobs/run/test_claims.py",
    "tests/jobs/run/test_pump.py",
    "tests/jobs/run/test_batches.py",
    "tests/realtime/test_admission.py",
    "tests/realtime/test_settlement.py",
    "tests/realtime/test_request_keys.py",
)


def main() -> None:
    """Exit as the old tests do."""
    parser = argparse.ArgumentParser(prog="make upgrade-check", description=__doc__)
    parser.add_argument(
        "--from", dest="old", default="", help="the commit that is upgraded from; the last tag unless given"
    )
    parser.add_argument("--all", action="store_true", help="every test of money, jobs and realtime requests")
    asked = parser.parse_args()
    old = asked.old or _last_tag()
    with tempfile.TemporaryDirectory(prefix="anex-upgrade-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        _unpack(old, folder / "code")
        postgres = Postgres(folder / "postgres", settings={**clusters.FAST, "max_connections": "300"})
        clusters.migrated(postgres)
        postgres.start()
        try:
            raise SystemExit(_test(folder / "code", postgres, ALL if asked.all else SHORT))
        finally:
            postgres.stop()


def _last_tag() -> str:
    done = subprocess.run(
        ["git", "describe", "--tags", "--abbrev=0"], cwd=clusters.ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit('No release is tagged yet. Name a commit: make upgrade-check ARGS="--from REF"')
    return done.stdout.strip()


def _unpack(ref: str, to: Path) -> None:
    packed = subprocess.run(["git", "archive", ref], cwd=clusters.ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(to, filter="data")


def _test(code: Path, postgres: Postgres, paths: tuple[str, ...]) -> int:
    found = [path for path in paths if (code / path).exists()]
    print(f"{len(found)} of {len(paths)} paths exist in that release", flush=True)
    environment = {**os.environ, "DATABASE_URL": postgres.url(), TEMPLATE: clusters.TEMPLATE}
    command = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", *found]
    return subprocess.run(command, cwd=code, env=environment, check=False).returncode


if __name__ == "__main__":
    main()
