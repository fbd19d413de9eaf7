"""Which fields a chat request may have: those of the surface that the model takes (references 000 and 004). Pure."""

from typing import Any, Final

from inference.catalogue.schema import Model
from inference.refusals import row_error
from inference.requests.bodies import IGNORED, check_known
from inference.requests.profiles import Profile
from inference.requests.sampling import SAMPLING

# A model takes those of these that its catalogue entry lists.
_PARAMETERS: Final = frozenset(
    {*SAMPLING, "max_tokens", "max_completion_tokens", "logprobs", "top_logprobs", "response_format", "tools"}
    | {"tool_choice", "parallel_tool_calls", "reasoning", "reasoning_effort", "chat_template_kwargs"}
)
_OF_TOOLS: Final = ("tool_choice", "parallel_tool_calls")
_OF_EFFORT: Final = ("reasoning", "reasoning_effort")
_OF_THINKING: Final = (*_OF_EFFORT, "chat_template_kwargs")
KNOWN: Final = _PARAMETERS | {"model", "messages", "stream", "stream_options", "n", "structured_outputs"}
_OF_STREAMS: Final = ("include_usage", "include_obfuscation")
# What came before tools; it would change which calls an answer may make.
_LEGACY: Final = ("functions", "function_call")

Body = dict[str, Any]


def check_fields(body: Body, model: Model, profile: Profile) -> None:
    """Raise `RowError` for a field that the surface or the model does not take."""
    check_known(body, KNOWN, profile=profile)
    for name, value in body.items():
        if _is_unsupported(name, value, model):
            raise row_error("parameter_not_supported", f"body.{name}", model=model.id)
    count = body.get("n")
    if count is not None and (type(count) is not int or count != 1):
        raise row_error("several_choices", "body.n")
    if not isinstance(body.get("structured_outputs"), bool | None):
        raise row_error("wrong_type", "body.structured_outputs", expected="true or false")


def drop_fields(body: Body, model: Model) -> tuple[Body, tuple[str, ...]]:
    """The body without the fields that are not applied, and their names; null and fields that change nothing have none.

    Raises `RowError` for those without which an answer would not be what was asked for.
    """
    dropped = {name: _is_dropped(name, value, model) for name, value in body.items() if value is not None}
    ignored = tuple(name for name, is_dropped in dropped.items() if is_dropped)
    # Words for the depth of thinking are checked all the same.
    kept = {name: value for name, value in body.items() if name in _OF_EFFORT or not dropped.get(name)}
    options = body.get("stream_options")
    if isinstance(options, dict):
        ignored += tuple(f"stream_options.{name}" for name in options if name not in _OF_STREAMS)
        kept["stream_options"] = {name: options[name] for name in _OF_STREAMS if name in options}
    return kept, ignored


def _is_dropped(name: str, value: object, model: Model) -> bool:
    if name in _LEGACY:
        raise row_error("legacy_functions", f"body.{name}")
    if name == "n":
        return value != 1
    if name not in KNOWN:
        return name not in IGNORED
    if name in _OF_EFFORT:
        return model.reasoning == "none"
    if not _is_unsupported(name, value, model):
        return False
    if name == "tools":
        raise row_error("no_tools", f"body.{name}", model=model.id)
    if name == "response_format" and value != {"type": "text"}:
        raise row_error("no_formats", f"body.{name}", model=model.id)
    return True


def _is_unsupported(name: str, value: object, model: Model) -> bool:
    taken = model.realtime.parameters if model.realtime else ()
    if name not in _PARAMETERS or name in taken or value is None:
        return False
    # Without tools these say nothing; frameworks send them all the same.
    idle = name in _OF_TOOLS or (name == "tools" and value == [])
    # Of a model that does not think these can only ask for what is so anyway: their readers refuse all else.
    return not (idle or (name in _OF_THINKING and model.reasoning == "none"))
