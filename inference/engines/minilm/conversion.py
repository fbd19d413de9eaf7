"""Turns the published weights of MiniLM (safetensors) into the one file that llama.cpp reads."""

import json
import os
from importlib import metadata
from pathlib import Path
from typing import Any

from anex.core.errors import Unavailable
from inference.catalogue.schema import Model, PackagedWeights
from inference.catalogue.weights import locate

# Names of BERT's tensors, and llama.cpp's for the same.
_EMBEDDINGS = {
    "word_embeddings": "token_embd",
    "position_embeddings": "position_embd",
    "token_type_embeddings": "token_types",
    "LayerNorm": "token_embd_norm",
}
_BLOCK = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
_KEPT_WIDE = ("position_embd", "token_types")
_SPECIAL = {"bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]"}


def converted(model: Model, cache: Path) -> Path:
    """The weights as llama.cpp reads them, made in `cache` where they are not yet. Raises Unavailable.

    The name tells the version they were made from; a file under that name is always whole.
    """
    source = model.weights
    if not isinstance(source, PackagedWeights):
        raise Unavailable(f"The catalogue names no packaged weights for {model.id}.")
    folder = locate(source).parent
    target = cache / f"{source.distribution}-{metadata.version(source.distribution)}.f16.gguf"
    if not target.exists():
        cache.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}.{os.getpid()}")
        try:
            _write(model.id, folder, partial)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    return target


def _write(name: str, folder: Path, target: Path) -> None:
    # Heavy to import, and needed once per installation.
    import gguf
    import numpy as np
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(target, "bert")
    writer.add_name(name)
    writer.add_license("apache-2.0")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    _add_vocabulary(writer, gguf.TokenType, (folder / "vocab.txt").read_text(encoding="utf-8").splitlines())
    writer.add_token_type_count(config["type_vocab_size"])
    for stored, tensor in load_file(folder / "model.safetensors").items():
        if (called := _tensor_name(stored)) is not None:
            wide = tensor.ndim < 2 or called.startswith(_KEPT_WIDE)
            writer.add_tensor(called, np.ascontiguousarray(tensor, dtype=np.float32 if wide else np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: Any, kinds: Any, words: list[str]) -> None:
    """WordPiece as llama.cpp has it: where BERT marks what continues a word, it marks what begins one."""
    special = set(_SPECIAL.values()) | {word for word in words if word.startswith("[unused")}
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(
        [word if word in special else word[2:] if word.startswith("##") else f"\u2581{word}" for word in words]
    )
    writer.add_token_types([kinds.CONTROL if word in special else kinds.NORMAL for word in words])
    for mark, word in _SPECIAL.items():
        getattr(writer, f"add_{mark}_token_id")(words.index(word))
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)


def _tensor_name(name: str) -> str | None:
    """llama.cpp's name of a tensor; None for what an embedding does not need."""
    stem, leaf = name.removeprefix("bert.").rsplit(".", 1)
    group, _, rest = stem.partition(".")
    if group == "embeddings" and rest in _EMBEDDINGS:
        return f"{_EMBEDDINGS[rest]}.{leaf}"
    if group == "encoder":
        _, block, part = rest.split(".", 2)
        return f"blk.{block}.{_BLOCK[part]}.{leaf}"
    return None
