"""A client of the batch API with nothing but its reference to go by (001, 003)."""

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

_MOST_REASON = 200


class DemoError(Exception):
    """The job could not be shown; the message is a sentence for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a result file: the answer's body (empty where there is none), or why there is none."""

    custom_id: str
    body: Mapping[str, Any]
    error: str

    @property
    def text(self) -> str:
        """What a chat model wrote."""
        choices = self.body.get("choices") or [{}]
        return (choices[0].get("message") or {}).get("content") or ""


class BatchClient:
    """The eight steps of a job as a program would take them. `url` ends with /batch/v1."""

    def __init__(self, session: aiohttp.ClientSession, url: str, key: str) -> None:
        self._session = session
        self._url = url
        self._headers = {"Authorization": f"Bearer {key}"}

    async def upload(self, content: bytes) -> str:
        """Store a JSONL file by a presigned form; the input's id."""
        created = await self._call("POST", "/inputs", {"format": "jsonl"})
        form = aiohttp.FormData()
        for name, value in created["fields"].items():
            form.add_field(name, value)
        form.add_field("file", content, filename="rows.jsonl", content_type="application/jsonl")
        async with self._session.post(created["upload_url"], data=form) as response:
            if response.status >= 400:
                raise DemoError(
                    f"The upload was refused with status {response.status}: {_reason(await response.text())}"
                )
        return str(created["id"])

    async def submit(self, input_id: str, model: str, **options: Any) -> str:
        """Create a job; its id. `options` are further fields of reference 001, POST /jobs."""
        return str((await self._call("POST", "/jobs", {"input_id": input_id, "model": model, **options}))["id"])

    async def job(self, job_id: str) -> dict[str, Any]:
        """The job as it is now."""
        return await self._call("GET", f"/jobs/{job_id}")

    async def approve(self, job_id: str) -> None:
        """Accept the quote."""
        await self._call("POST", f"/jobs/{job_id}/approve")

    async def result(self, job_id: str) -> list[Line]:
        """Every line of the result file."""
        link = await self._call("GET", f"/jobs/{job_id}/result")
        async with self._session.get(link["result_url"]) as response:
            if response.status != 200:
                raise DemoError(f"The result could not be downloaded: status {response.status}.")
            return [_line(json.loads(line)) for line in (await response.read()).splitlines()]

    async def _call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        url = self._url + path
        async with self._session.request(method, url, headers=self._headers, json=body) as response:
            text = await response.text()
            if response.status >= 400:
                raise DemoError(f"{method} {path} was answered with status {response.status}: {_reason(text)}")
        answer: dict[str, Any] = json.loads(text)
        return answer


def _reason(text: str) -> str:
    """What an error body says: its `detail`, or its beginning where it is something else."""
    try:
        return str(json.loads(text)["detail"])
    except (ValueError, KeyError, TypeError):
        return textwrap.shorten(text, _MOST_REASON)


def _line(line: dict[str, Any]) -> Line:
    body = (line.get("response") or {}).get("body") or {}
    return Line(line["custom_id"], body, str(line.get("error") or ""))
