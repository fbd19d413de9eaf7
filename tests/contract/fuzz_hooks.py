"""What schemathesis does besides: ids that exist, in about half of the places, and our own check of the key."""

import json
import os
from typing import Any

import requests
import schemathesis
from schemathesis import GenerationMode

IDS: dict[str, list[str]] = json.loads(os.environ["ANEX_FUZZ_IDS"])


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Turns half of the valid requests into ones that may succeed; the case's id decides, so it can be repeated."""
    chosen = sum(case.id.encode())
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE or chosen % 2:
        return
    if "id" in (case.path_parameters or {}):
        known = IDS["inputs" if case.path.startswith("/inputs") else "jobs"]
        case.path_parameters["id"] = known[chosen // 2 % len(known)]
    if case.method == "POST" and case.path == "/inputs":
        case.body = {"format": "jsonl"}
    elif case.method == "POST" and case.path == "/jobs":
        case.body = {"input_id": IDS["inputs"][chosen // 2 % len(IDS["inputs"])], "model": "scripted"}


@schemathesis.check
def refuses_strangers(context: Any, response: Any, case: Any) -> None:
    """What was answered with the key is refused without a header (422) and with a key that is none (401)."""
    if response.status_code >= 300:
        return
    for headers, status in (({}, 422), ({"Authorization": f"Bearer sk-{'x' * 52}"}, 401)):
        sent = {name: value for name, value in response.request.headers.items() if name.lower() != "authorization"}
        again = requests.request(
            response.request.method,
            response.request.url,
            headers=sent | headers,
            data=response.request.body,
            timeout=30,
        )
        assert again.status_code == status, f"{again.status_code} to {headers or 'no header'}"
