"""What settled work consumed, written in the transaction that settled it."""

from anex.core.actors import Actor
from anex.core.errors import NotFound
from anex.core.usage import Usage
from billing.services import verbs

# The ways in, as usage is broken down by them.
SURFACES = ("batch", "openai_batch", "chat", "responses", "completions", "embeddings", "decisions")


def record(*, source: str, surface: str, model_id: str, actor: Actor, requests: int, usage: Usage) -> bool:
    """Note what the settled hold `source` paid for; False, and no change, when that was noted before.

    `actor` is who asked for the work; only a key is kept by name. NotFound before the hold is settled.
    """
    if surface not in SURFACES:
        raise ValueError(f"{surface} is no surface")
    outcome, _ = verbs.call(
        *("billing_record_usage_v1", source, surface, model_id, actor.id if actor.kind == "key" else ""),
        *(requests, usage.input_tokens, usage.cached_tokens, usage.output_tokens),
    )
    if outcome == "unsettled":
        raise NotFound("Nothing is settled under this source.")
    return outcome == "recorded"
