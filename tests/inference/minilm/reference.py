"""MiniLM by hand: a sentence's vector from the published weights with numpy."""

import json
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

_erf = np.vectorize(math.erf)


class Reference:
    """The weights of a folder; `vector` takes token ids, the special ones included."""

    def __init__(self, folder: Path) -> None:
        self.tensors = load_file(folder / "model.safetensors")
        config = json.loads((folder / "config.json").read_text())
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.epsilon = config["layer_norm_eps"]

    def vector(self, ids: list[int]) -> np.ndarray:
        words, places, kinds = (
            self.tensors[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        )
        state = self._norm("embeddings.LayerNorm", words[ids] + places[: len(ids)] + kinds[0])
        for layer in range(self.layers):
            state = self._block(f"encoder.layer.{layer}", state)
        mean = state.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _block(self, at: str, state: np.ndarray) -> np.ndarray:
        seen = self._linear(f"{at}.attention.output.dense", self._attend(f"{at}.attention.self", state))
        state = self._norm(f"{at}.attention.output.LayerNorm", seen + state)
        inner = self._linear(f"{at}.intermediate.dense", state)
        inner = inner * 0.5 * (1 + _erf(inner / math.sqrt(2)))
        return self._norm(f"{at}.output.LayerNorm", self._linear(f"{at}.output.dense", inner) + state)

    def _attend(self, at: str, state: np.ndarray) -> np.ndarray:
        count, width = state.shape
        query, key, value = (
            self._linear(f"{at}.{name}", state).reshape(count, self.heads, -1).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(width // self.heads)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = weights / weights.sum(axis=-1, keepdims=True) @ value
        return mixed.transpose(1, 0, 2).reshape(count, width)

    def _linear(self, at: str, state: np.ndarray) -> np.ndarray:
        return state @ self.tensors[f"{at}.weight"].T + self.tensors[f"{at}.bias"]

    def _norm(self, at: str, state: np.ndarray) -> np.ndarray:
        centred = state - state.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self.epsilon)
        return scaled * self.tensors[f"{at}.weight"] + self.tensors[f"{at}.bias"]
