"""What can be wrong with a row, in one table: a stable code and the sentence that says what to fix.

Sentences name the field themselves where it is fixed; `param` carries the path as the sender wrote it.
"""

from typing import Any, Final

from anex.core.errors import InvalidRequest


class RowError(InvalidRequest):
    """One row is refused: `code` is stable, `message` is for the person, `param` is the field's path in the line."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message, code=code, param=param)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rows are also checked in other processes, and an exception crosses by what it was made of."""
        return type(self), (self.code, self.message, self.param)


class TemplateRefused(RowError):
    """The chat template refuses a row's messages; `index` is the row's place in the counted batch."""

    def __init__(self, index: int, model_id: str, reason: str) -> None:
        refusal = row_error("template_refused", "body.messages", model=model_id, reason=reason[:200])
        super().__init__(refusal.code, refusal.message, refusal.param)
        self.index, self.model_id, self.reason = index, model_id, reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.index, self.model_id, self.reason)


_SENTENCES: Final[dict[str, str]] = {
    "invalid_encoding": "the line is not valid UTF-8: save the file as UTF-8",
    "byte_order_mark": "the line starts with a byte order mark: save the file as UTF-8 without one",
    "invalid_json": "the line is not valid JSON ({reason})",
    "not_an_object": "the line must be a JSON object with custom_id, method, url and body, not {found}",
    "too_deep": "the line nests arrays and objects too deeply: at most 250 levels are read",
    "missing": "{param} is missing",
    "wrong_type": "{param} must be {expected}",
    "empty": "{param} must not be empty",
    "invalid_method": "method must be POST",
    "invalid_url": "url must be {url}",
    "stream_not_supported": "body.stream is not supported: every row is answered whole; remove it or set it to false",
    "invalid_role": "{param} must be system, developer, user, assistant or tool",
    "unknown_part": "unsupported content part type '{type}': supported types are {supported}",
    "no_encoder": "model '{model}' does not support {modality} input: remove the part or choose a model that takes it",
    "media_not_served": "{modality} input is not served here for model '{model}': send text parts only",
    "invalid_arguments": "{param} must be a string holding a JSON object",
    "out_of_range": "{param} must be a number from {low} to {high}",
    "reasoning_not_supported": "model '{model}' produces no reasoning: remove {param} or set it to false",
    "effort_not_supported": "model '{model}' has no reasoning effort levels: remove {param}",
    "invalid_effort": "{param} must be one of {levels} for model '{model}'",
    "effort_without_reasoning": "{param} needs reasoning, which is off for this row",
    "budget_without_reasoning": "{param} is false, but the job caps reasoning with reasoning_budget {budget}: "
    "remove one of the two",
    "messages_in_embedding": "an embeddings request carries 'input', not 'messages'",
    "encoding_not_float": "body.encoding_format must be float, or be left out",
    "embedding_list": "embeddings input must be a single string per row, not a list (submit one row per input)",
    "embedding_text_parts": "send the text of body.input as one string: its parts carry no media",
    "out_of_range_integer": "{param} must be an integer from {low} to {high}",
    "unknown_field": "{param} is not a field of a decision row: it takes {fields}",
    "too_many_questions": "{param} holds {count} questions: a row asks at most {most}",
    "state_too_long": "{param} has {count} characters: at most {most} are read (an object counts as its JSON)",
    "template_refused": "the chat template of model '{model}' refuses these messages: {reason}",
}


def row_error(code: str, param: str | None = None, **facts: object) -> RowError:
    """The error for `code`, its sentence filled with `param` and `facts`."""
    return RowError(code, _SENTENCES[code].format(param=param, **facts), param)
