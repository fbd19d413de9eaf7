"""What a chat row of an OpenAI batch keeps for itself: output cap, sampling, reasoning (000, batch input file)."""

from typing import Any, Final

from msgspec import Struct

from inference.catalogue.schema import Model
from inference.requests.profiles import RowProfile
from inference.requests.reasoning import UNSAID, Reasoning, read_reasoning
from inference.requests.sampling import read_cap, read_sampling

_SAMPLING: Final = ("top_p", "seed", "stop")


class OwnSettings(Struct, frozen=True, kw_only=True):
    """`max_tokens` caps the answer; `sampling` holds top_p, seed and stop as they are sent on.

    `names_cap` is false where the row left its cap to the default, which gives way to a long prompt.
    """

    max_tokens: int
    names_cap: bool
    sampling: dict[str, Any]
    reasoning: Reasoning = UNSAID


def read_settings(body: dict[str, Any], *, model: Model, profile: RowProfile) -> OwnSettings:
    """A row's own settings, or a `RowError` that names the field as it was written."""
    own_cap, sampling = read_cap(body, model), read_sampling(body, _SAMPLING)
    ceiling = model.max_output_tokens or 0
    return OwnSettings(
        max_tokens=own_cap or min(profile.default_cap or ceiling, ceiling),
        names_cap=own_cap is not None,
        sampling=sampling,
        reasoning=read_reasoning(body.get("reasoning"), model=model),
    )
