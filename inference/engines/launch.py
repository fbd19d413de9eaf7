"""What `vllm serve` is started with: the command line and the environment. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from anex.core.errors import InvalidRequest
from inference.catalogue.schema import HubWeights, Model

LOOPBACK = "127.0.0.1"
# The platform's own secrets (database, storage, signing keys) are not for a model server.
_PASSED_ON = (
    *("PATH", "HOME", "LANG", "LC_", "TMPDIR", "LD_LIBRARY_PATH", "XDG_"),
    *("CUDA_", "NVIDIA_", "NCCL_", "OMP_", "VLLM_", "HF_", "TORCH", "PYTORCH_", "TRITON_"),
)


@dataclass(frozen=True, slots=True)
class Launch:
    """One vLLM server: what it serves, where it listens, and how the registry shall know it.

    `address` is what workers of other hosts use, up to and including /v1; `weights` is a folder or a repository.
    """

    model_id: str
    task: str
    weights: str
    max_model_len: int
    revision: str = ""
    dtype: str = ""
    quantization: str = ""
    host: str = LOOPBACK
    port: int = 8001
    address: str = ""
    region: str = "world"
    credential_env: str = ""
    concurrency: int = 64
    ready_within_s: float = 1800.0
    extra: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """Where this host reaches the server."""
        return f"http://{LOOPBACK if self.host == '0.0.0.0' else self.host}:{self.port}"  # noqa: S104

    @property
    def base_url(self) -> str:
        """Where workers reach the server."""
        return self.address or f"{self.origin}/v1"


def weights_of(model: Model, given: str) -> tuple[str, str]:
    """The weights and their revision: as given, or the catalogue's. Raises InvalidRequest where neither names any."""
    if given:
        return given, ""
    if isinstance(model.weights, HubWeights):
        return model.weights.repository, model.weights.revision or ""
    raise InvalidRequest(f"The catalogue names no weights of {model.id} for vLLM; give --weights.", param="weights")


def check(launch: Launch, given: Mapping[str, str]) -> None:
    """Refuse a server that other hosts could use without a key. Raises InvalidRequest."""
    if launch.host != LOOPBACK and not launch.credential_env:
        raise InvalidRequest(
            f"A server that listens on {launch.host} needs a key: give --credential-env.", param="credential_env"
        )
    if launch.credential_env and not given.get(launch.credential_env):
        raise InvalidRequest(f"{launch.credential_env} is not set: it must hold the key.", param="credential_env")


def command(executable: str, launch: Launch) -> list[str]:
    """The command line; what the operator adds comes last and so overrides."""
    line = [executable, "serve", launch.weights, "--served-model-name", launch.model_id]
    line += ["--host", launch.host, "--port", str(launch.port), "--max-model-len", str(launch.max_model_len)]
    for flag, value in (
        ("--revision", launch.revision),
        ("--dtype", launch.dtype),
        ("--quantization", launch.quantization),
        ("--runner", "pooling" if launch.task == "embed" else ""),
    ):
        line += [flag, value] if value else []
    # Without it, vLLM does not tell which input tokens came from its cache.
    line += ["--enable-prompt-tokens-details"] if launch.task == "chat" else []
    return [*line, *launch.extra]


def environment(launch: Launch, given: Mapping[str, str]) -> dict[str, str]:
    """The child's environment: what GPU software reads, no telemetry, no downloads unless the operator allows them."""
    passed = {name: given[name] for name in given if name.startswith(_PASSED_ON)}
    key = {"VLLM_API_KEY": given[launch.credential_env]} if launch.credential_env else {}
    return {"HF_HUB_OFFLINE": "1", **passed, **key, "VLLM_NO_USAGE_STATS": "1"}
