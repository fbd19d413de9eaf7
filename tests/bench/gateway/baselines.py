"""What Anex is compared with: LiteLLM's proxy without its database, and vllm-router, each in an environment of its own.

They are installed once, into an ignored folder; where no package registry is reached, the run goes on without them.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from anex.supervisor.valkey import free_port
from tests.bench.gateway.processes import start
from tests.bench.gateway.programs import CACHE, Missing
from tests.bench.gateway.shots import Target

PINS = {
    "litellm": ("litellm[proxy]==1.108.7", "httptools==0.9.0"),
    "vllm-router": ("vllm-router==0.1.17",),
}
LITELLM_KEY = "sk-bench-1234"
MODELS = {"fake": "chat", "fake-paced": "chat", "fake-embed": "embedding"}
# It installs in minutes and starts in half of one.
_START_S = 120


def installed(name: str) -> Path:
    """The folder of the programs of one of PINS; raises Missing where it cannot be installed."""
    environment, pins = CACHE / name, PINS[name]
    stamp = environment / "installed"
    if stamp.exists() and stamp.read_text() == "\n".join(pins):
        return environment / "bin"
    print(f"installing {pins[0]} into {environment}", flush=True)
    shutil.rmtree(environment, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    command = [str(environment / "bin" / "pip"), "install", "--quiet", "--retries", "1", *pins]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise Missing(f"{pins[0]} cannot be installed (is a package registry reachable?): {' '.join(last)}")
    stamp.write_text("\n".join(pins))
    return environment / "bin"


def litellm(state: Path, upstream: int) -> Target:
    """LiteLLM's proxy with one worker: no database, no callbacks, no retries, and prices it need not look for."""
    programs, port = installed("litellm"), free_port()
    at = {"api_base": f"http://127.0.0.1:{upstream}/v1", "api_key": "x"}
    prices = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
    models = [
        {
            "model_name": name,
            "litellm_params": {"model": f"openai/{name}", **at, **prices},
            "model_info": {"mode": mode, **prices},
        }
        for name, mode in MODELS.items()
    ]
    settings = {"num_retries": 0, "request_timeout": 60, "callbacks": [], "set_verbose": False, "telemetry": False}
    config = state / "litellm.yaml"
    config.write_text(
        json.dumps(
            {
                "model_list": models,
                "litellm_settings": settings,
                "general_settings": {"master_key": LITELLM_KEY},
            }
        )
    )
    process = start(
        [*(str(programs / "litellm"), "--config", str(config), "--host", "127.0.0.1"), "--port", str(port)],
        log=state / "litellm.log",
        port=port,
        seconds=_START_S,
        environment={
            "LITELLM_LOG": "ERROR",
            "LITELLM_MODE": "PRODUCTION",
            "LITELLM_TELEMETRY": "False",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "NO_DOCS": "True",
        },
    )
    return Target("litellm", port, LITELLM_KEY, {"litellm": process.pid})


def vllm_router(state: Path, upstream: int) -> Target:
    """vllm-router, which is Rust: no keys, no limits, no bills."""
    programs, port, metrics = installed("vllm-router"), free_port(), free_port()
    process = start(
        [
            *(str(programs / "vllm-router"), "--worker-urls", f"http://127.0.0.1:{upstream}"),
            *("--host", "127.0.0.1", "--port", str(port), "--policy", "round_robin"),
            *("--prometheus-port", str(metrics)),
        ],
        log=state / "vllm-router.log",
        port=port,
        seconds=_START_S,
    )
    return Target("vllm-router", port, "x", {"vllm-router": process.pid})
