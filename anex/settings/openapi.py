"""How the API description is made (drf-spectacular); the views say what they take and answer."""

import json
from typing import Any

_ASKED = {
    "type": "choice",
    "instructions": "Who handles this?",
    "criteria": {"shipping": "parcels", "billing": "payments"},
}
_BODIES = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Name a river."}]},
    "/v1/embeddings": {"input": "A river in spring"},
    "/v1/systemone": {"state": "My parcel never came.", "questions": {"team": _ASKED}},
}
_ROWS = "\n".join(
    json.dumps({"custom_id": url.rsplit("/", 1)[1], "method": "POST", "url": url, "body": body})
    for url, body in _BODIES.items()
)
# What no schema of a call can say: the files that go in and come out (references 001 and 002).
_FILES = f"""
## The rows of an input

A JSONL input has one object per line: `custom_id` (any string, once per file, returned as it was sent), `method`, `url`
and `body`. The model says which url: chat, embedding and decision models in this order.

```json
{_ROWS}
```

A question's type is `choice` (`criteria` is an object of options), `noul` (yes or no; `criteria` for `true` and `false`
may be given) or `score` (`criteria` is a list of levels, the lowest first).

A parquet input has the string columns `custom_id` and `input`: the text of one user message, or of one embedding. Every
other column comes back in the result, which is parquet too. Decision models take JSONL only.

## The lines of a result

Each has `custom_id`, `response` with `status_code` and `body` (null where there is none), `error` and `error_type`
(null where the answer is good).

## The files of a batch

A batch's file is such an input whose every `body` also names the `model`, the same in all lines. Its chat requests keep
their own `max_tokens` (4,096 where a request has none), `temperature`, `top_p`, `seed`, `stop` and `reasoning`.

A line of its output and error file has `id`, `custom_id`, `response` with `status_code`, `request_id` and `body`, and
`error` with `code` and `message`. Requests that were never run, because the batch was
cancelled or expired first, are in the error file as `batch_cancelled` or `batch_expired`.
"""


def spectacular(public_url: str) -> dict[str, Any]:
    """The settings, for an installation that clients reach at `public_url`."""
    return {
        "OAS_VERSION": "3.1.0",
        "TITLE": "Anex inference API",
        "VERSION": "1",
        "DESCRIPTION": (
            "Send a file of requests to an open model, see what it will cost at most, approve it, and download one "
            "file with an answer per row. Or send one request and have its answer at once: see realtime and openai.\n\n"
            "A job's calls in their usual order: createInput and the upload of the file, createJob, getJob until the "
            "status is `cost_ready`, approveJob, getJob until it is `done`, getJobResult for a download link. "
            "The estimate that is approved is held from the prepaid credits and is the most that is charged.\n" + _FILES
        ),
        "SERVERS": [{"url": f"{public_url}/batch/v1", "description": "Batch API"}],
        "TAGS": [
            {"name": "inputs", "description": "Getting a file of rows into storage."},
            {"name": "jobs", "description": "Submitting, approving, watching, stopping and downloading jobs."},
            {"name": "realtime", "description": "One embedding or decision request at a time."},
            {"name": "openai", "description": "Chats, embeddings and decisions as OpenAI's clients ask for them."},
            {"name": "openai-second", "description": "The same under `/openai/v1`, where a resend is answered."},
            {"name": "files", "description": "Files of OpenAI's clients: uploads, and what batches deliver."},
            {"name": "batches", "description": "Jobs as OpenAI's clients make, poll and cancel them."},
            {"name": "account", "description": "What a key may read of its plan, the credits and what was used."},
        ],
        "SCHEMA_PATH_PREFIX": r"/(batch|realtime)/v1",
        "SCHEMA_PATH_PREFIX_TRIM": True,
        "SORT_OPERATIONS": False,
        "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
        # Every enum stands where it is used, as in the reference.
        "POSTPROCESSING_HOOKS": [
            "anex.docs.description.loosen_unions",
            "realtime.openapi.describe",
            "jobs.openapi.describe",
            "billing.openapi.describe",
            "anex.docs.description.declare_waits",
            "anex.docs.description.require_bodies",
        ],
    }
