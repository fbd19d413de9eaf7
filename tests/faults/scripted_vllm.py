"""A stand-in for the `vllm` executable: the scripted engine behind the flags of `vllm serve`; others are refused.

It loads its weights until `ready` lies in VLLM_FAKE_DIR, where it writes a line per start, its command line and the
journal of the rows it receives.
"""

import argparse
import os
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ["VLLM_FAKE_DIR"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="vllm", allow_abbrev=False)
    parser.add_argument("command", choices=["serve"])
    parser.add_argument("weights")
    for name in ("--served-model-name", "--host", "--port", "--max-model-len", "--dtype", "--max-num-seqs"):
        parser.add_argument(name)
    parser.add_argument("--enable-prompt-tokens-details", action="store_true")
    parser.add_argument("--fake-delay-ms", default="0")
    chosen = parser.parse_args()
    with (FOLDER / "starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    (FOLDER / "arguments").write_text(" ".join(sys.argv[1:]))
    while not (FOLDER / "ready").exists():
        time.sleep(0.05)
    line = ["-m", "inference.engines.scripted", "--port", chosen.port, "--host", chosen.host]
    line += ["--served-name", chosen.served_model_name, "--max-model-len", chosen.max_model_len]
    line += ["--journal", str(FOLDER / "journal"), "--delay-ms", chosen.fake_delay_ms]
    os.execv(sys.executable, [sys.executable, *line])


if __name__ == "__main__":
    main()
