"""How long an answer is, and how much of it was thinking: what the rows of a sample are run for."""

from collections.abc import Sequence

import msgspec

from anex.core.usage import Usage
from inference import tokens
from inference.backends.answers import Answer
from inference.backends.registry import Server
from inference.backends.usage import read_reasoning
from inference.requests import rows as requests
from inference.requests.response_format import constrains
from jobs.run.context import Context
from jobs.run.judging import text_of, thinking_of
from jobs.sizing import Length


def measure(context: Context, request: requests.ChatRow, answer: Answer, usage: Usage, server: Server) -> Length:
    """The length of a sampled answer; its thinking as the server reports it, else counted from its text.

    Thinking beside a response_format gets no budget, so it counts as answer. Raises Unavailable.
    """
    cut, text = answer.finish_reason == "length", thinking_of(answer.body)
    reported = read_reasoning(answer.body)
    if constrains(request.response_format) or not (text or reported):
        return Length(usage.output_tokens, cut=cut)
    if cut and not text_of(answer.body):
        return Length(usage.output_tokens, usage.output_tokens, cut=True)
    thinking = count_texts(context, request, [text], server) if reported is None else reported
    return Length(usage.output_tokens, min(thinking, usage.output_tokens), cut)


def count_texts(context: Context, request: requests.ChatRow, texts: Sequence[str], server: Server) -> int:
    """Tokens of texts the model wrote, by its own tokenizer: what each adds to an empty message. Raises Unavailable."""
    messages = [[{"role": "user", "content": text}] for text in ("", *texts)]
    rows = [msgspec.structs.replace(request, messages=alone, media=()) for alone in messages]
    nothing, *written = (count.input_tokens for count in count_rows(context, rows, server))
    return sum(max(0, count - nothing) for count in written)


def count_rows(context: Context, rows: Sequence[requests.Row], server: Server) -> list[Usage]:
    """What rows send, for rows that could be counted before. Raises RowError where one cannot be, and Unavailable."""
    counted = []
    for count in tokens.count_rows(context.model, rows, options=context.options, counting_server=server):
        if isinstance(count, requests.RowError):
            raise count
        counted.append(count)
    return counted
