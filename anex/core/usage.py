"""What one answer consumed, as the model server reported it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one row or request; `cached_tokens` is a part of `input_tokens`."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
