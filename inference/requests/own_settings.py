"""What a chat row of an OpenAI batch keeps for itself: output cap, sampling, reasoning (000, batch input file)."""

from typing import Any, Final

from msgspec import Struct

from inference.catalogue.schema import Model
from inference.requests.profiles import RowProfile
from inference.requests.reasoning import UNSAID, Reasoning, read_reasoning
from inference.requests.sampling import read_cap, read_sampling

_SAMPLING: Final = ("top_p", "seed", "stop")


class OwnSettings(Struct, frozen=True, kw_only=True):
    """`max_tokens` caps the answer; `sampling` holds top_p, seed and stop as they are sent on."""

    max_tokens: int
    sampling: dict[str, Any]
    reasoning: Reasoning = UNSAID


def read_settings(body: dict[str, Any], *, model: Model, profile: RowProfile) -> OwnSettings:
    """A row's own settings, or a `RowError` that names the field as it was written."""
    ceiling = model.max_output_tokens
    assert ceiling is not None
    cap = read_cap(body, model) or min(profile.default_cap or ceiling, ceiling)
    sampling = read_sampling(body, _SAMPLING)
    return OwnSettings(max_tokens=cap, sampling=sampling, reasoning=read_reasoning(body.get("reasoning"), model=model))
