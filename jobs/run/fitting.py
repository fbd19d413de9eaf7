"""Whether a counted row, and the answer it is to get, fit the model's context."""

from anex.core.usage import Usage
from inference.requests import rows as requests
from jobs.run.scope import Scope

QUOTED_CHARACTERS = 64  # of a custom_id, in a sentence


def misfit(context: Scope, row: requests.Row, usage: Usage) -> str | None:
    """Why the row is too long for the model, or None (reference 001, failure_reason).

    A decision's longer text is cut to the window; an embedding writes nothing.
    """
    model, cap = context.model, context.options.max_output_tokens
    count = usage.input_tokens
    if model.task == "decide" or count + (cap or int(model.task == "chat")) <= model.context_tokens:
        return None
    if cap is None or count >= model.context_tokens:
        return (
            f"Row {quoted(row.custom_id)} is too long: {count:,} input tokens exceeds the "
            f"{model.context_tokens:,}-token maximum that model '{model.id}' can serve. Shorten or split this row."
        )
    return (
        f"Row {quoted(row.custom_id)} is too long: {count:,} input tokens and up to {cap:,} output tokens exceed the "
        f"{model.context_tokens:,}-token context of model '{model.id}'. Shorten the row or lower max_output_tokens."
    )


def quoted(custom_id: str) -> str:
    """The custom_id as a sentence names it: it may be as long as the line."""
    shown = custom_id[:QUOTED_CHARACTERS]
    return repr(shown if shown == custom_id else f"{shown}…")
