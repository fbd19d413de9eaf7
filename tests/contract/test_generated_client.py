"""A client generated from /openapi.json, by a generator that knows nothing of us, completes the main job."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack import Stack, send

HERE = Path(__file__).parent
GENERATOR = Path(sys.executable).with_name("openapi-python-client")


@pytest.fixture
def stack() -> Iterator[Stack]:
    folder = Path(tempfile.mkdtemp(prefix="anex-client-", dir="/var/tmp"))
    with Stack(folder, durable=False) as running:
        yield running
    shutil.rmtree(folder)


@pytest.mark.slow
def test_completes_the_main_job(stack: Stack, tmp_path: Path) -> None:
    origin = f"http://127.0.0.1:{stack.web_port}"
    status, description = send(f"{origin}/openapi.json", "GET")
    assert status == 200
    (tmp_path / "openapi.json").write_bytes(description)
    package = tmp_path / "anex_client"
    options = ["--path", str(tmp_path / "openapi.json"), "--output-path", str(package), "--meta", "none"]
    tools = {"PATH": f"{GENERATOR.parent}:{os.environ['PATH']}"}
    subprocess.run([GENERATOR, "generate", *options, "--fail-on-warning"], check=True, env=os.environ | tools)
    ran = subprocess.run(
        [sys.executable, HERE / "generated_client_job.py", f"{origin}/batch/v1", stack.secret],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [line["custom_id"] for line in lines] == [f"row-{number}" for number in range(5)]
    assert {line["response"]["status_code"] for line in lines} == {200}
