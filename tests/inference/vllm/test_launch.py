"""What `vllm serve` is started with."""

import subprocess
import sys
import threading

import pytest
from django.core.management import CommandError, call_command

from anex.core.errors import InvalidRequest, Unavailable
from inference.engines import launch as launching
from inference.engines.vllm import Vllm
from tests.inference.scripted_server import ROOT
from tests.inference.vllm.conftest import eventually


def test_command_line_carries_what_the_catalogue_and_the_operator_say(host):
    line = launching.command(
        "vllm",
        host.launch(dtype="bfloat16", quantization="fp8", revision="main", extra=("--max-num-seqs", "32")),
    )
    assert line == [
        *("vllm", "serve", "/weights", "--served-model-name", "scripted", "--host", "127.0.0.1"),
        *("--port", str(host.port), "--max-model-len", "2048", "--revision", "main", "--dtype", "bfloat16"),
        *("--quantization", "fp8", "--enable-prompt-tokens-details", "--max-num-seqs", "32"),
    ]


def test_embedding_model_is_served_by_the_pooling_runner(host):
    line = launching.command("vllm", host.launch(task="embed"))
    assert line[line.index("--runner") + 1] == "pooling"
    assert "--enable-prompt-tokens-details" not in line


def test_server_sees_its_key_and_none_of_the_secrets_of_the_platform(host, running, monkeypatch):
    monkeypatch.setenv("ANEX_TEST_MODEL_KEY", "model-key")
    monkeypatch.setenv("SECRET_KEY", "platform-secret")
    running(credential_env="ANEX_TEST_MODEL_KEY")
    eventually(lambda: (host.folder / "environment").exists() and (host.folder / "environment").stat().st_size)
    seen = host.read("environment")
    assert (seen["VLLM_API_KEY"], seen["HF_HUB_OFFLINE"], seen["VLLM_NO_USAGE_STATS"]) == ("model-key", "1", "1")
    assert not {"SECRET_KEY", "DATABASE_URL", "REDIS_URL", "ANEX_TEST_MODEL_KEY"} & set(seen)


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"host": "0.0.0.0"}, "credential_env"),
        ({"credential_env": "ANEX_NO_SUCH_KEY"}, "credential_env"),
        ({"address": "nonsense"}, "base_url"),
        ({"region": "mars"}, "region"),
    ],
)
def test_launch_that_could_not_be_used_is_refused_before_it_starts(host, changes, param):
    with pytest.raises(InvalidRequest) as caught:
        Vllm(host.launch(**changes), stop=threading.Event())
    assert caught.value.param == param
    assert host.pids == []


def test_host_without_vllm_is_told_so(host, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Unavailable, match="vllm"):
        Vllm(host.launch(), stop=threading.Event())


@pytest.mark.parametrize(("model", "sentence"), [("no-such-model", "no-such-model"), ("scripted", "--weights")])
def test_model_that_cannot_be_served_is_refused_by_the_command(host, model, sentence):
    with pytest.raises(CommandError, match=sentence):
        call_command("engine", model)


def test_platform_never_imports_the_engine():
    program = (
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'anex.settings.test'; import anex.asgi, anex.urls,"
        " anex.celery; sys.exit(any(name.startswith('inference.engines.vllm') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
