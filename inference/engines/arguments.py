"""What an operator says of a vLLM server that the catalogue cannot know: one set of arguments, one way to read them."""

import argparse
import shlex
from typing import Any

from anex.core.errors import NotFound
from inference import catalogue
from inference.engines import launch as launching
from inference.engines.launch import LOOPBACK, Launch

_OF_THE_LAUNCH = ("dtype", "quantization", "host", "port", "address", "credential_env", "concurrency", "ready_within_s")


def declare(parser: argparse.ArgumentParser) -> None:
    """Add them to a parser."""
    parser.add_argument("--weights", default="", help="a folder or repository instead of the catalogue's")
    parser.add_argument("--dtype", default="")
    parser.add_argument("--quantization", default="")
    parser.add_argument("--host", default=LOOPBACK, help="where vLLM listens")
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--address", default="", help="how other hosts reach it, e.g. http://10.0.0.5:8001/v1")
    parser.add_argument("--credential-env", default="", help="the environment variable that holds its key")
    parser.add_argument("--concurrency", type=int, default=64, help="requests it is sent at a time")
    parser.add_argument(
        "--ready-within",
        dest="ready_within_s",
        metavar="SECONDS",
        type=float,
        default=1800.0,
        help="how long a start may take before it is given up and made again",
    )
    parser.add_argument("--vllm-args", default="", help="further arguments of `vllm serve`, as one quoted text")


def launch(model_id: str, options: dict[str, Any], *, region: str) -> Launch:
    """A model's server as the catalogue and the operator say. Raises NotFound or InvalidRequest."""
    model = catalogue.get(model_id)
    if model is None:
        raise NotFound(f"The catalogue has no model {model_id!r}.")
    weights, revision = launching.weights_of(model, options["weights"])
    return Launch(
        model_id=model.id,
        task=model.task,
        weights=weights,
        revision=revision,
        max_model_len=model.visual_context_tokens or model.context_tokens,
        region=region,
        extra=tuple(shlex.split(options["vllm_args"])),
        **{name: options[name] for name in _OF_THE_LAUNCH},
    )
