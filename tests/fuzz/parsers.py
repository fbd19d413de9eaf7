"""A million made-up inputs for what reads customers' bytes: `make fuzz-parsers`; ARGS="--runs 1000" makes it short.

The targets run side by side. The exit status is 1 when one was answered with anything but a row or a row error, or when
a target was fed fewer inputs than it should have been; libFuzzer prints the input and where it is kept.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.fuzz.targets import seeds  # noqa: E402

SHARES = {"line": 0.6, "part": 0.3, "probe": 0.1}
DONE = re.compile(r"Done (\d+) runs in")
LONGEST_INPUT = 20_001


def main() -> int:
    """Fuzz every target and print what each was fed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000, help="inputs in all")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="anex-fuzz-", dir="/var/tmp") as folder:
        started = {
            name: _start(name, round(given.runs * share), given.seed, Path(folder)) for name, share in SHARES.items()
        }
        return max([_finish(name, *child) for name, child in started.items()])


def _start(name: str, runs: int, seed: int, folder: Path) -> tuple[int, float, Path, subprocess.Popen[bytes]]:
    inputs, log = folder / name, folder / f"{name}.log"
    inputs.mkdir()
    for place, data in enumerate(seeds(name)):
        (inputs / str(place)).write_bytes(data)
    command = [sys.executable, "-m", "tests.fuzz.one", name]
    options = [f"-runs={runs}", f"-seed={seed}", f"-max_len={LONGEST_INPUT}", "-timeout=60", "-rss_limit_mb=4096"]
    options += [f"-artifact_prefix={ROOT / 'var'}/fuzz-{name}-", str(inputs)]
    (ROOT / "var").mkdir(exist_ok=True)
    with log.open("wb") as output:
        child = subprocess.Popen([*command, *options], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    return runs, time.monotonic(), log, child


def _finish(name: str, runs: int, began: float, log: Path, child: subprocess.Popen[bytes]) -> int:
    status = child.wait()
    done = DONE.search(text := log.read_text(errors="replace"))
    fed = int(done[1]) if done else 0
    verdict = "no fault" if status == 0 and fed >= runs else "FAULT"
    print(f"{name:6} {fed:>9,} of {runs:,} inputs in {time.monotonic() - began:,.0f} s: {verdict}", flush=True)
    if verdict == "no fault":
        return 0
    print(text[-6_000:])
    return 1


if __name__ == "__main__":
    sys.exit(main())
