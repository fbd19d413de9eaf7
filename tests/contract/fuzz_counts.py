"""A count of what was answered to schemathesis, and who is asked besides: strangers. Part of every run's hooks."""

import atexit
import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import requests
import schemathesis
from schemathesis import GenerationMode

answered: dict[str, Counter[int]] = defaultdict(Counter)
# The OpenAI-compatible surfaces answer a missing header as they do a wrong key.
MISSING_HEADER = {True: 401, False: 422}


def is_valid(case: Any) -> bool:
    """Whether a request was made to be answered."""
    return case.meta is not None and case.meta.generation.mode is GenerationMode.POSITIVE


@schemathesis.check
def refuses_strangers(context: Any, response: Any, case: Any) -> None:
    """What was answered with the key is refused without a header and with a key that is none (401)."""
    if response.status_code >= 300 or case.operation.definition.raw.get("security") == []:
        return
    missing = MISSING_HEADER[case.operation.path.startswith(("/v1/", "/openai/v1/"))]
    for headers, status in (({}, missing), ({"Authorization": f"Bearer sk-{'x' * 52}"}, 401)):
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
