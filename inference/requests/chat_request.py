"""A chat request: its body read and checked, every rule of references 000 and 004. Pure, and waits for nothing."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from anex.core.errors import InvalidRequest
from inference.catalogue.schema import Model
from inference.media.formats import Modality
from inference.media.parts import CHAT_PARTS, MediaPart
from inference.refusals import RowError, row_error
from inference.requests import model_names
from inference.requests.bodies import malformed, refused
from inference.requests.chat_fields import check_fields, drop_fields
from inference.requests.chat_forms import read_forms
from inference.requests.messages import forget_thinking, read_messages
from inference.requests.options import RowOptions
from inference.requests.profiles import Profile
from inference.requests.reasoning import read_reasoning
from inference.requests.response_format import check_schema
from inference.requests.sampling import SAMPLING, read_cap, read_sampling
from inference.requests.thinking import check_thinking, may_think
from inference.requests.tools import ToolUse, read_tools

MOST_ITEMS: Final[dict[Modality, int]] = {"image": 2, "audio": 1, "video": 1}
_ITEMS: Final[dict[Modality, str]] = {"image": "images", "audio": "audio clips", "video": "videos"}
_MOST_TOP_LOGPROBS: Final = 20
_NO_JOB: Final = RowOptions()


class ChatRequest(Struct, frozen=True, kw_only=True):
    """A checked request; settings are as they are sent on.

    `media` are the pictures and clips whose places are marked in `messages`. `max_tokens` is None without a cap.
    `thinking_tokens` caps the thinking. `response_format` is None where nothing is constrained or a forced call takes
    its place. `top_logprobs` is None without log probabilities. `schemas` are still to be compiled, path and JSON.
    `promises` that a forced call or form is kept. `ignored` are fields that are not applied, as they were sent.
    """

    messages: list[dict[str, Any]]
    media: tuple[MediaPart, ...] = ()
    stream: bool = False
    includes_usage: bool = False
    max_tokens: int | None = None
    sampling: dict[str, Any] = {}
    top_logprobs: int | None = None
    template_settings: dict[str, Any] = {}
    thinks: bool = False
    thinking_tokens: int | None = None
    excludes_reasoning: bool = False
    response_format: dict[str, Any] | None = None
    use: ToolUse = ToolUse()
    schemas: tuple[tuple[str, bytes], ...] = ()
    promises: bool = False
    ignored: tuple[str, ...] = ()

    @property
    def is_constrained(self) -> bool:
        """Whether the answer has to keep to a form."""
        return self.response_format is not None or self.use.forces


def read(body: dict[str, Any], *, model: Model, profile: Profile) -> ChatRequest:
    """The request a body holds, or the refusal of its surface. Schemas are left to `check_schemas`."""
    try:
        return _read(body, model, profile)
    except RowError as error:
        raise refused(error, profile) from None
    except InvalidRequest as error:
        raise malformed(error, profile) from None


def within(request: ChatRequest, most_tokens: int) -> ChatRequest:
    """The request with an answer of at most so many tokens."""
    return replace(request, max_tokens=min(request.max_tokens or most_tokens, most_tokens))


def check_schemas(request: ChatRequest, profile: Profile) -> None:
    """Raise `InvalidRequest` for a schema that does not compile. Blocks on a child process: call it in a thread.

    Only requests with `schemas` need it; a schema seen lately is answered from a cache.
    """
    for param, schema in request.schemas:
        try:
            check_schema(schema, param)
        except InvalidRequest as error:
            raise malformed(error, profile) from None


def _read(body: dict[str, Any], model: Model, profile: Profile) -> ChatRequest:
    ignored: tuple[str, ...] = ()
    if profile.refuses_unknown:
        check_fields(body, model, profile)
    else:
        body, ignored = drop_fields(body, model)
    messages, media = read_messages(body.get("messages"), model=model, rules=CHAT_PARTS)
    if media:
        check_counts(media, MOST_ITEMS, whole="a request")
        check_inline(media, profile)
    if profile.keeps_promises:
        messages = forget_thinking(messages)
    use = read_tools(body, takes_custom=profile.takes_custom)
    reasoning = read_reasoning(
        body.get("reasoning"),
        model=model,
        top_level=_effort(body, model, profile),
        efforts=profile.efforts,
        nearest=profile.reads_levels,
    )
    kwargs = check_thinking(body.get("chat_template_kwargs"), model=model, options=_NO_JOB, own=reasoning)
    if use.choice == "none" and model.reasoning != "none":
        kwargs = {"enable_thinking": False}
    response_format, schemas = read_forms(body.get("response_format"), use, profile)
    top_logprobs = _top_logprobs(body)
    if top_logprobs is not None and reasoning.excluded:
        raise row_error("logprobs_without_reasoning", "body.logprobs")
    stream, includes_usage = _streaming(body)
    thinks = may_think(kwargs, model)
    return ChatRequest(
        messages=messages,
        media=media,
        stream=stream,
        includes_usage=includes_usage,
        max_tokens=read_cap(body, model, lowers=profile.lowers_caps),
        sampling=read_sampling(body, SAMPLING),
        top_logprobs=top_logprobs,
        template_settings=kwargs,
        thinks=thinks,
        thinking_tokens=reasoning.tokens if thinks and response_format is None else None,
        excludes_reasoning=reasoning.excluded,
        response_format=response_format,
        use=use,
        schemas=schemas,
        promises=profile.keeps_promises,
        ignored=ignored,
    )


def check_counts(media: Sequence[MediaPart], most: dict[Modality, int], *, whole: str) -> None:
    """Raise `RowError` at the first item beyond the most of its kind that `whole` (words for it) takes."""
    seen: Counter[Modality] = Counter()
    for part in media:
        kind = part.modality
        seen[kind] += 1
        if seen[kind] > most[kind]:
            count = sum(other.modality == kind for other in media)
            raise row_error("too_many_items", part.at, count=count, items=_ITEMS[kind], most=most[kind], whole=whole)


def check_inline(media: Sequence[MediaPart], profile: Profile) -> None:
    """Raise `RowError` for media inside the body where the surface takes it by URL alone."""
    if not profile.takes_inline:
        for part in media:
            if part.data is not None:
                raise row_error("inline_media", part.at)


def _effort(body: dict[str, Any], model: Model, profile: Profile) -> object:
    asked = body.get("reasoning_effort")
    return model_names.level(body.get("model"), model.id) if asked is None and profile.reads_levels else asked


def _top_logprobs(body: dict[str, Any]) -> int | None:
    wanted, most = body.get("logprobs"), body.get("top_logprobs")
    if wanted is not None and not isinstance(wanted, bool):
        raise row_error("wrong_type", "body.logprobs", expected="true or false")
    if most is not None and (type(most) is not int or not 0 <= most <= _MOST_TOP_LOGPROBS):
        raise row_error("out_of_range_integer", "body.top_logprobs", low=0, high=_MOST_TOP_LOGPROBS)
    if most and not wanted:
        raise row_error("needs_logprobs", "body.top_logprobs")
    return (most or 0) if wanted else None


def _streaming(body: dict[str, Any]) -> tuple[bool, bool]:
    """Whether to stream, and whether the stream ends with its usage."""
    stream, options = body.get("stream"), body.get("stream_options")
    if stream is not None and not isinstance(stream, bool):
        raise row_error("wrong_type", "body.stream", expected="true or false")
    if options is None:
        return bool(stream), False
    if not isinstance(options, dict):
        raise row_error("wrong_type", "body.stream_options", expected="an object")
    for name, value in options.items():
        if value is None:
            continue
        if name not in ("include_usage", "include_obfuscation"):
            raise row_error("unknown_parameter", f"body.stream_options.{name[:64]}")
        if not isinstance(value, bool):
            raise row_error("wrong_type", f"body.stream_options.{name}", expected="true or false")
    return bool(stream), bool(options.get("include_usage"))
