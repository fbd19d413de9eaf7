"""Every code an error can have: its status, whether to send the request again, whether anything is charged. Pure.

The page `/docs/errors` and docs/errors.md are written from this. Errors in OpenAI's shape carry `retry` and `charged`
as they stand here, unless the error itself knows better (reference 004: the same advice on every refusal). What can be
wrong with a row of a file is told by `inference.refusals`.
"""

from typing import Final, Literal, NamedTuple

# Whether the identical request may do better: yes, after `Retry-After` where there is one; only under another
# idempotency key; not before something else has changed.
Retry = Literal["same", "new_key", "no"]
# Whether this request took anything: nothing, or what it took was all given back; it is paid for; some of it is kept.
Charged = Literal[False, True, "refunded", "stands"]


class Entry(NamedTuple):
    """One code. `meaning` says what happened and what to do."""

    code: str
    status: int
    meaning: str
    retry: Retry = "no"
    charged: Charged = False


SECTIONS: Final[dict[str, tuple[Entry, ...]]] = {
    "What the request says": (
        Entry("invalid_request", 400, "A field or a parameter is refused; the message names it as you wrote it."),
        Entry("bad_value", 400, "A field is of the wrong type, out of range, or names what the request does not have."),
        Entry(
            "context_length_exceeded", 400, "The request does not fit the model's context: shorten it or ask for less."
        ),
        Entry("input_invalid", 400, "An input holds token ids, which are not taken: send the text."),
        Entry("input_too_long", 400, "An input is longer than the model reads: split it."),
        Entry("invalid_idempotency_key", 400, "An idempotency key is 1 to 64 letters, digits, '.', '-' or '_'."),
        Entry(
            "invalid_response_format", 400, "The schema of `response_format` cannot be compiled; the message says why."
        ),
        Entry("response_format_unsupported", 400, "This kind of `response_format` is not taken, or not beside tools."),
        Entry("tools_rejected", 400, "The model's server refused the tools as they were sent."),
        Entry("tools_unsupported", 400, "This kind of tool is not offered, or this model takes no tools."),
        Entry("unknown_effort", 400, "The word for the reasoning effort is unknown; the message lists the known ones."),
        Entry("refused_url", 400, "A URL is refused: it is not public https, or it cannot be read."),
        Entry("amount_out_of_range", 400, "The amount of a payment is too small or too large."),
        Entry("invalid_signature", 400, "An event of the payment provider is not signed by it."),
        Entry("unprocessable", 422, "The request is well formed, and it does not fit the endpoint or the model."),
        Entry("method_not_allowed", 405, "The path takes other methods, which `Allow` names."),
        Entry("file_deletion_not_supported", 405, "Files are not deleted by hand: they go after their days."),
        Entry("request_timeout", 408, "The body did not arrive in time.", retry="same"),
        Entry("too_large", 413, "The body has more bytes than the path takes."),
        Entry("unsupported_media_type", 415, "The body is not JSON, or is compressed where that is not taken."),
        Entry("range_not_satisfiable", 416, "The range lies behind the end of the file."),
    ),
    "Who asks, and what they may do": (
        Entry("invalid_api_key", 401, "No key, an unknown or revoked one, or only its id. Send the whole key."),
        Entry("forbidden", 403, "The caller is known and may not do this."),
        Entry("org_suspended", 403, "The organization is suspended because of a billing issue."),
        Entry("missing_scope", 403, "The key lacks a scope: `required` names it, `accepted` lists what would do."),
        Entry("model_not_allowed", 403, "The key is limited to other models: `allowed_models` lists them."),
        Entry("plan_has_no_api_generate", 403, "Keys on this `plan` answer no requests at once, on any path."),
        Entry("plan_has_no_batch", 403, "This `plan` has no batch jobs."),
        Entry("plan_has_no_chat", 403, "This `plan` has no chat models."),
        Entry("plan_has_no_embeddings", 403, "This `plan` has no embeddings."),
        Entry("plan_has_no_decisions", 403, "This `plan` has no decisions."),
        Entry("misdirected", 421, "The data is kept in another region: the error names the API to ask."),
    ),
    "Money": (
        Entry(
            "insufficient_credits",
            402,
            "The credits do not cover the request: `required` and `balance` are in credits. 429 on `/openai/v1`.",
        ),
        Entry("credit_limit_reached", 402, "An organization billed by invoice is at its limit. 429 on `/openai/v1`."),
        Entry("payment_declined", 409, "A payment was declined."),
        Entry("key_credit_ceiling", 429, "The key is at its `ceiling` in credits, of which `spent` are used or held."),
        Entry("insufficient_quota", 429, "A quota is used up; the message names it and when it starts anew."),
    ),
    "What is not there": (
        Entry("not_found", 404, "There is no such thing in this organization, or no such path."),
        Entry("model_not_found", 404, "There is no such model."),
        Entry("file_deleted", 404, "The file was deleted."),
        Entry("gone", 410, "The data was deleted."),
        Entry("not_served", 501, "The model exists and is not served here; the batch API may have it."),
    ),
    "The state of things, and idempotency keys": (
        Entry("conflict", 409, "The thing is in the wrong state for this call."),
        Entry("input_expired", 409, "The input's days are over: upload it again."),
        Entry("input_not_ready", 409, "The input has not arrived yet, or its copy failed."),
        Entry("idempotency_key_in_use", 409, "A request with this key is being handled.", retry="same"),
        Entry("idempotency_key_reused", 409, "This key was used with another request.", retry="new_key"),
        Entry("in_flight", 409, "The request of this key is still being answered.", retry="same"),
        Entry("key_settled", 409, "The request of this key was answered, and charged then.", retry="new_key"),
    ),
    "Too much at once": (
        Entry("rate_limit_exceeded", 429, "Requests arrive too fast, or too many are in flight.", retry="same"),
        Entry("wait_capacity", 429, "Every place for requests in flight is in use.", retry="same"),
        Entry("model_busy", 429, "The model answers as many requests as it takes.", retry="same"),
        Entry("approval_queue_full", 429, "Too many jobs wait for approval: approve or cancel some.", retry="same"),
        Entry("too_many_batches", 429, "Too many batches are being checked.", retry="same"),
        Entry("too_many_uploads", 429, "Too many uploads are under way.", retry="same"),
    ),
    "The answer": (
        Entry(
            "output_limit_reached",
            400,
            "The answer's tokens or the time of a turn ran out while the model reasoned: ask for less effort.",
            charged="refunded",
        ),
        Entry(
            "response_format_unmet",
            422,
            "The model did not answer in the form that was asked for. Reasoning that was delivered is paid for.",
            retry="new_key",
            charged="refunded",
        ),
        Entry(
            "tool_choice_unmet",
            422,
            "The model did not make the call that was demanded. Reasoning that was delivered is paid for.",
            retry="new_key",
            charged="refunded",
        ),
    ),
    "Our side": (
        Entry("internal_error", 500, "Something went wrong on our side.", retry="same"),
        Entry("upstream_error", 502, "The model's server gave no usable answer.", retry="same"),
        Entry("unreachable", 502, "A host that the request names does not answer.", retry="same"),
        Entry("unavailable", 503, "Something the request depends on cannot answer just now.", retry="same"),
        Entry("frozen", 503, "The API is frozen for maintenance.", retry="same"),
        Entry("model_warming", 503, "A server of the model is starting.", retry="same"),
        Entry("embeddings_warming", 503, "A server of the embedding model is starting.", retry="same"),
        Entry("vendor_disabled", 503, "The model is switched off, for the reason in the message: pick another one."),
        Entry("gateway_unavailable", 503, "The payment provider does not answer.", retry="same"),
        Entry("timeout", 504, "The answer took too long and was given up: stream long answers."),
        Entry(
            "run_timed_out",
            504,
            "The answer outlives the connection and goes on: a resend of the same request finds it.",
            retry="same",
            charged=True,
        ),
    ),
}

CATALOGUE: Final = {entry.code: entry for entries in SECTIONS.values() for entry in entries}

_PASSING: Final = frozenset({408, 429})
_OURS: Final = 500


def entry_of(code: str, status: int) -> Entry:
    """The entry of a code; of one that a library made up, what its status says."""
    passes = status in _PASSING or status >= _OURS
    return CATALOGUE.get(code) or Entry(code, status, "", retry="same" if passes else "no")
