"""What a chat template has against a row."""

from typing import Any

from inference.refusals import RowError, row_error


class TemplateRefused(RowError):
    """The chat template refuses a row's messages; `index` is the row's place in the counted batch."""

    def __init__(self, index: int, model_id: str, reason: str) -> None:
        refusal = row_error("template_refused", "body.messages", model=model_id, reason=reason[:200])
        super().__init__(refusal.code, refusal.message, refusal.param)
        self.index, self.model_id, self.reason = index, model_id, reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.index, self.model_id, self.reason)
