"""The errors of the servers we wrote, in the shape vLLM gives them."""

from typing import Any

_TYPES = {400: "BadRequestError", 401: "Unauthorized", 404: "NotFoundError", 422: "UnprocessableEntityError"}
_TYPES |= {429: "RateLimitError", 500: "InternalServerError", 503: "ServiceUnavailableError"}


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(self, message: str, *, param: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.status = status


def error_body(status: int, message: str, param: str | None = None) -> dict[str, Any]:
    """The body of an error answer; `code` is a number, as vLLM has it."""
    kind = _TYPES.get(status, "InternalServerError")
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}


def check_context(*, prompt_tokens: int, output_tokens: int | None, limit: int) -> int:
    """The tokens left for the answer; refuses a request that does not fit the context."""
    wanted = output_tokens if output_tokens is not None else max(1, limit - prompt_tokens)
    if prompt_tokens + wanted > limit:
        raise Refusal(
            f"This model's maximum context length is {limit} tokens. However, you requested {wanted} output tokens"
            f" and your prompt contains at least {prompt_tokens} input tokens, for a total of at least"
            f" {prompt_tokens + wanted} tokens. Please reduce the length of the input prompt or the number of"
            " requested output tokens.",
            param="input_tokens",
        )
    return wanted
