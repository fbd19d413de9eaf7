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

    def placed(self, param: str) -> "RowError":
        """The same refusal, of the field at this path."""
        return RowError(self.code, self.message, param)


SENTENCES: Final[dict[str, str]] = {
    "invalid_encoding": "the line is not valid UTF-8: save the file as UTF-8",
    "byte_order_mark": "the line starts with a byte order mark: save the file as UTF-8 without one",
    "invalid_json": "the line is not valid JSON ({reason})",
    "not_an_object": "the line must be a JSON object with custom_id, method, url and body, not {found}",
    "too_deep": "the line nests arrays and objects too deeply: at most 250 levels are read",
    "missing": "{param} is missing",
    "wrong_type": "{param} must be {expected}",
    "empty": "{param} must not be empty",
    "invalid_method": "method must be POST",
    "invalid_url": "url must be {url} for the chosen model",
    "unknown_url": "url must be one of {urls}",
    "other_url": "url is {found}, but the first line names {url}: every line of a file names one url",
    "unknown_model": "unknown model '{model}'",
    "model_differs": "{param} is '{found}', but the first line names '{model}': every line of a file names one model",
    "stream_not_supported": "body.stream is not supported: every row is answered whole; remove it or set it to false",
    "invalid_role": "{param} must be system, developer, user, assistant or tool",
    "unknown_part": "unsupported content part type '{type}': supported types are {supported}",
    "no_encoder": "model '{model}' does not support {modality} input: remove the part or choose a model that takes it",
    "media_not_served": "{modality} input is not served here for model '{model}': send text parts only",
    "invalid_media_url": "{param} must be an https:// URL or a data: URI",
    "not_https": "{param} must be an https:// URL",
    "media_url_too_long": "{param} is longer than {most} characters: give a shorter URL",
    "not_base64_uri": "{param} is a data: URI without base64 data: write data:<media type>;base64,<data>",
    "data_prefix": "{param} must be bare base64: remove its data: prefix, or send the clip as an audio_url part",
    "invalid_base64": "{param} is not valid base64: padded, of the standard alphabet and without line breaks",
    "media_too_large": "an embedded {item} exceeds the size limit (max {limit} MB)",
    "unsupported_format": "{param}: {found} is not a supported {modality} format; supported are {supported}",
    "format_contradicted": "{param} is declared as {declared}, but its first bytes are {found}",
    "invalid_duration": "{param} must be a number of seconds above 0, at most {most}",
    "audio_too_long": "Row {row}: audio duration {seconds}s exceeds the {most}s maximum for model '{model}'. "
    "Shorten or split this audio input.",
    "audio_estimated_too_long": "Row {row}: audio duration, estimated at {seconds}s from its size, exceeds the "
    "{most}s maximum for model '{model}'. Shorten or split this audio input, or state its length in duration_seconds.",
    "video_too_long": "Row {row}: video is {seconds}; at {rate} the longest clip {model} takes is {longest} s. "
    "{advice}",
    "too_few_frames": "Row {row}: the video holds {frames} of the {least} frames a clip needs. "
    "Send a single frame as an image_url part.",
    "row_too_long": "Row {row} is too long: {tokens} input tokens{media} exceeds the {most}-token maximum "
    "that model '{model}' can serve{carried}. Shorten or split this row.",
    "no_room_for_answer": "Row {row} is too long: its {tokens} input tokens leave no room for an answer in the "
    "{most}-token context of model '{model}'. Shorten or split this row.",
    "answer_too_long": "Row {row} is too long: {tokens} input tokens and up to {cap} output tokens exceed the "
    "{most}-token context of model '{model}'. Shorten the row or lower {field}.",
    "media_unreachable": "{param} could not be fetched: {reason}",
    "media_surplus": "{reason}",
    "media_unreadable": "{param} cannot be read: {reason}",
    "media_length_mismatch": "{param} is {real} s long, but was priced as {priced} s: state its length in "
    "duration_seconds",
    "invalid_arguments": "{param} must be a string holding a JSON object",
    "out_of_range": "{param} must be a number from {low} to {high}",
    "out_of_open_range": "{param} must be a number above {low}, at most {high}",
    "two_caps": "{param} and max_tokens are different numbers: send one of the two",
    "unknown_effort": "{param} must be one of {levels}",
    "other_model": "{param} is '{found}', but the batch runs '{model}': every line of a file names one model",
    "reasoning_not_supported": "model '{model}' produces no reasoning: remove {param} or set it to false",
    "effort_not_supported": "model '{model}' has no reasoning effort levels: remove {param}",
    "invalid_effort": "{param} must be one of {levels} for model '{model}'",
    "effort_without_reasoning": "{param} needs reasoning, which is off",
    "budget_without_reasoning": "{param} is false, but the job caps reasoning with reasoning_budget {budget}: "
    "remove one of the two",
    "messages_in_embedding": "an embeddings request carries 'input', not 'messages'",
    "encoding_not_float": "body.encoding_format must be float, or be left out",
    "embedding_list": "embeddings input must be a single string per row, not a list (submit one row per input)",
    "embedding_text_parts": "send the text of {param} as one string: its parts carry no media",
    "out_of_range_integer": "{param} must be an integer from {low} to {high}",
    "only_width": "{param} must be {width}, the only width of model '{model}', or be left out",
    "unknown_field": "{param} is not a field of a decision: it takes {fields}",
    "too_many_questions": "{param} holds {count} questions: at most {most} are asked at once",
    "state_too_long": "{param} has {count} characters: at most {most} are read (an object counts as its JSON)",
    "not_a_body": "the request body must be a JSON object",
    "too_many_values": "the request body holds more than {most} values, which is more than any model reads",
    "unreadable_body": "the request body is not valid JSON: {reason}",
    "unknown_parameter": "{param} is not a parameter of this request",
    "parameter_not_supported": "model '{model}' does not support {param}",
    "several_choices": "{param} must be 1: send a request for each further choice",
    "needs_logprobs": "{param} above 0 needs logprobs to be true",
    "logprobs_without_reasoning": "logprobs and reasoning.exclude cannot be combined: the log probabilities would "
    "carry the thinking",
    "call_without_tools": "{param} asks for a tool call, but there are no tools",
    "unknown_tool": "{param} is '{name}', which is not among tools",
    "not_supported": "{param} is not supported: leave it out",
    "prompt_of_ids": "{param} holds token ids, which are not accepted: send the text itself",
    "several_prompts": "{param} must be one string: send a request for each further prompt",
    "stored": "{param} names something stored, and nothing is stored here: send the whole conversation in input",
    "in_background": "{param} must be false: a response is answered while its request waits",
    "stored_answer": "{param} is a reference to an answer, and nothing is stored here: send the answer itself, as "
    "clients do with store: false",
    "stored_call": "{param} is a reference to a call, and nothing is stored here: send the call itself, as clients do "
    "with store: false",
    "unknown_item": "unsupported item type '{type}': supported are {supported}",
    "hosted_tool": "{param} is '{type}': no tools are run here; send tools of type function or custom, which you run",
    "legacy_functions": "{param} is not taken: send tools and tool_choice",
    "no_tools": "model '{model}' takes no {param}: choose a model whose parameters name tools",
    "tool_name": "{param} must be 1 to 64 letters, digits, _ or -",
    "tool_twice": "{param} is '{name}', which another tool is named: give each a name of its own",
    "unknown_format": "{param} must be text, json_object or json_schema",
    "no_formats": "model '{model}' does not support {param}",
    "format_beside_tools": "{param} cannot be combined with tools: remove one of the two",
    "schema_root": "{param} must be the schema of an object: no other answer can be asked for",
    "schema_too_deep": "{param} nests deeper than {most} levels",
    "schema_too_large": "{param} is too large: a schema has at most {most} bytes, all of a request {in_all}",
    "schema_pattern": "{param} uses {keyword}, which is not compiled here: leave it out and check the answer yourself",
    "schema_count": "{param} sets {keyword} above {most}",
    "inline_media": "{param} holds media in the request: send its https:// URL",
    "not_a_cap": "{param} must be a whole number of at least 1",
    "too_many_items": "{param} is one of {count} {items}: {whole} takes at most {most}",
    "token_ids": "{param} holds token ids, which are not accepted: send the text itself",
    "text_only": "{param} must be a string: content with media is embedded by batch jobs",
    "mixed_inputs": "{param} must be {expected}, like the inputs before it",
    "too_many_inputs": "{param} holds {count} inputs: a request takes at most {most}",
    "text_too_long": "{param} has {count} characters: at most {most} are taken{where}",
    "unknown_encoding": "{param} must be float or base64",
    "not_a_state": "{param} must be a string or an object",
    "state_past_window": "question '{name}' is read together with the state in a window of {window} tokens, and both "
    "have {tokens}: cut the state by {over} tokens",
    "unanswerable": "question '{name}' {reason}",
    "template_refused": "the chat template of model '{model}' refuses these messages: {reason}",
}


_QUOTED_CHARACTERS: Final = 64


def shortened(name: str) -> str:
    """A custom_id or a field as a sentence names it: it may be as long as its line."""
    shown = name[:_QUOTED_CHARACTERS]
    return shown if shown == name else f"{shown}…"


def quoted(custom_id: str) -> str:
    """A custom_id as a sentence names its row, whatever it holds."""
    return repr(shortened(custom_id))


def row_error(code: str, param: str | None = None, *, row: str = "", **facts: object) -> RowError:
    """The error for `code`, its sentence filled with `param`, the custom_id of the `row` and `facts`."""
    return RowError(code, SENTENCES[code].format(param=param, row=quoted(row), **facts), param)


def expected(what: str, value: object, param: str) -> RowError:
    """The error of a field that is missing or of another JSON type than `what`."""
    return row_error("missing", param) if value is None else row_error("wrong_type", param, expected=what)
