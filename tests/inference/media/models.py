"""The catalogue's models that take media."""

from inference.catalogue.files import SHIPPED
from inference.catalogue.loading import load

_MODELS = load([SHIPPED])
NEMOTRON = _MODELS["nemotron-3-nano-omni-30b"]
GEMMA = _MODELS["gemma4-12b"]
QWEN = _MODELS["qwen3.8-27b"]
QWEN_IMAGES = _MODELS["qwen3.6-27b"]
TEXT_ONLY = _MODELS["qwen3-14b"]
EMBEDDER = _MODELS["qwen3-vl-embedding-2b"]
