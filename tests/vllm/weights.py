"""Writes the packaged SmolLM2 as the folder that vLLM loads. Runs in vLLM's own environment: `weights.py GGUF FOLDER`.

The weights never learned to think or to call functions. Two special tokens they have no use for become the marks of
thinking, so that a server can be told to part it from the answer.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

MARKS = {"<issue_start>": "<think>", "<issue_closed>": "</think>"}


def main(gguf: Path, folder: Path) -> None:
    """Dequantize, rename the marks, save."""
    source = {"pretrained_model_name_or_path": gguf.parent, "gguf_file": gguf.name}
    tokenizer = AutoTokenizer.from_pretrained(**source)
    model = AutoModelForCausalLM.from_pretrained(
        **source, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    for path in folder.glob("*token*.json"):
        text = path.read_text()
        for old, new in MARKS.items():
            text = text.replace(old, new)
        path.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
