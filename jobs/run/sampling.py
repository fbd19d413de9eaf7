"""Which rows are run before the quote: a draw of them, where a cap or a thinking budget has to be measured."""

from collections.abc import Sequence

from inference.requests import chat, typed
from inference.requests import rows as requests
from inference.requests.response_format import constrains
from inference.requests.thinking import leaves_budget_open
from jobs.run.context import Context
from jobs.run.estimates import SampledRow


def may_be_needed(context: Context) -> bool:
    """Whether answers may have to be measured: only a chat row writes, and the job or its rows may give caps."""
    if context.model.task != "chat" or context.options.profile.keeps_own_settings:
        return False
    return context.options.max_output_tokens is None or _budgeted(context)


def rows_to_run(context: Context, drawn: Sequence[SampledRow]) -> list[SampledRow]:
    """The drawn rows, or none where nothing is to be learned from them.

    That is so where only a budget is missing, the model does not think unless told to, and no drawn row tells it to.
    """
    options, model = context.options, context.model
    if options.max_output_tokens is None or options.reasoning or model.reasoning_default is not False:
        return list(drawn)
    return list(drawn) if any(_thinks(context, row) for row in drawn) else []


def _budgeted(context: Context) -> bool:
    options = context.options
    is_open = leaves_budget_open(context.model, reasoning=options.reasoning, budget=options.reasoning_budget)
    return is_open and not constrains(options.response_format)


def _thinks(context: Context, drawn: SampledRow) -> bool:
    line = context.store.read_range(context.input_key, drawn.start, drawn.end, etag=context.input_etag)
    row = typed.reader(context.model, context.options)(line)
    return isinstance(row, requests.ChatRow) and chat.thinks(row, context.model)
