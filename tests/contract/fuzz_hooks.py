"""What schemathesis does besides: ids that exist, our own check of the key, and a count of what was answered."""

import atexit
import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import requests
import schemathesis
from schemathesis import GenerationMode

IDS: dict[str, list[str]] = json.loads(os.environ["ANEX_FUZZ_IDS"])
answered: dict[str, Counter[int]] = defaultdict(Counter)


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Turns most of the valid requests into ones that may succeed; the case's id decides, so it can be repeated."""
    chosen = sum(case.id.encode())
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE or chosen % 4 == 0:
        return
    if "id" in (case.path_parameters or {}):
        case.path_parameters["id"] = _known(_kind(case.path), chosen)
    operation = case.operation.label
    if operation == "GET /jobs" and case.query:
        # A cursor that was made up is refused before anything else is looked at.
        case.query.pop("after", None)
    elif operation == "POST /inputs" and chosen % 2:
        case.body = {"format": "jsonl"}
    elif operation == "POST /jobs" and isinstance(case.body, dict):
        options = {} if chosen % 2 else {name: case.body[name] for name in case.body if name != "input_s3_uri"}
        case.body = options | {"input_id": _known("inputs", chosen), "model": "scripted"}


def _kind(path: str) -> str:
    kinds = {"approve": "quoted", "pause": "running", "resume": "running"}
    return "inputs" if path.startswith("/inputs") else kinds.get(path.rpartition("/")[2], "jobs")


def _known(kind: str, chosen: int) -> str:
    return IDS[kind][chosen // 4 % len(IDS[kind])]


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


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Counts the answer, unless it is one to a method that the path does not take."""
    if case.method.lower() == case.operation.method.lower():
        answered[case.operation.label][response.status_code] += 1


@atexit.register
def tell() -> None:
    """Leaves the counts for `fuzz`."""
    Path(os.environ["ANEX_FUZZ_COUNTS"]).write_text(json.dumps(answered))
