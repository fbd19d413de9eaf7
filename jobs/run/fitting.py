"""Whether a counted row, and the answer it is to get, fit the model's context."""

from anex.core.usage import Usage
from inference.refusals import RowError, row_error
from inference.requests import rows as requests
from jobs.run.scope import Scope


def misfit(context: Scope, row: requests.Row, usage: Usage) -> RowError | None:
    """Why the row is too long for the model, or None (reference 001, failure_reason).

    The context is that of what the row carries. A decision's longer text is cut to the window; an embedding writes
    nothing. A row whose media makes it too long was refused when it was counted.
    """
    model, cap = context.model, _named_cap(context, row)
    count, most = usage.input_tokens, requests.context_of(row, model)
    if model.task == "decide" or count + (cap or int(model.task == "chat")) <= most:
        return None
    at, shown = requests.content_at(row), {"tokens": f"{count:,}", "most": f"{most:,}"}
    if count > most:
        return row_error("row_too_long", at, row=row.custom_id, model=model.id, media="", carried="", **shown)
    if cap is None or count == most:
        return row_error("no_room_for_answer", at, row=row.custom_id, model=model.id, **shown)
    field = "max_output_tokens" if context.options.max_output_tokens else f"its {requests.cap_of(row)}"
    return row_error("answer_too_long", at, row=row.custom_id, model=model.id, cap=f"{cap:,}", field=field, **shown)


def own_cap(scope: Scope, row: requests.Row, usage: Usage) -> int:
    """The output cap in tokens of a row that keeps its own, 0 for others; a default gives way to a long prompt."""
    if not isinstance(row, requests.ChatRow) or row.own is None:
        return 0
    if row.own.names_cap:
        return row.own.max_tokens
    return min(row.own.max_tokens, requests.context_of(row, scope.model) - usage.input_tokens)


def _named_cap(scope: Scope, row: requests.Row) -> int | None:
    own = row.own if isinstance(row, requests.ChatRow) else None
    if own is None:
        return scope.options.max_output_tokens
    return own.max_tokens if own.names_cap else None


def taken(context: Scope, row: requests.Row, usage: Usage) -> int:
    """What a row takes of the model's context, in tokens: less than it sends where its media widens the context."""
    return usage.input_tokens - (requests.context_of(row, context.model) - context.model.context_tokens)
