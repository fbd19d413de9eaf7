"""The order of events of the main job: upload, price, approve, run, download, pay."""

import asyncio
from dataclasses import dataclass
from typing import Any

import aiohttp

from anex.core.clock import monotonic
from anex.demo.client import BatchClient, DemoError, Line
from anex.demo.rows import Row, chats, decisions, embeddings
from anex.demo.screen import Screen

_POLL_S = 0.5
_STALLED_S = 600.0
# Tokens: room for the short sentence that is asked for.
_LONGEST_ANSWER = 120
_BEFORE_QUOTE = frozenset({"submitted", "estimating"})
_RUNNING = frozenset({"in_progress", "finalizing"})


@dataclass(frozen=True, slots=True)
class Story:
    """Runs the job on a screen; `url` is the platform's address, without a path."""

    url: str
    key: str
    model: str
    embedder: str
    decider: str
    screen: Screen

    async def run(self, rows: list[Row]) -> str:
        """Take a job from upload to result; its id. Raises DemoError when it does not end as done."""
        timeout = aiohttp.ClientTimeout(total=60)
        try:
            async with aiohttp.ClientSession(timeout=timeout) as session:
                return await self._run(BatchClient(session, f"{self.url}/batch/v1", self.key), rows)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise DemoError(f"The API at {self.url} did not answer: {error or type(error).__name__}.") from error

    async def _run(self, client: BatchClient, rows: list[Row]) -> str:
        content = chats(rows)
        input_id = await client.upload(content)
        self.screen.uploaded(len(rows), len(content), rows[0])
        job_id = await client.submit(input_id, self.model, max_output_tokens=_LONGEST_ANSWER)
        self.screen.submitted(job_id, self.model)
        with self.screen.estimating():
            job = await self._while(client, job_id, _BEFORE_QUOTE)
        _require(job, "cost_ready")
        self.screen.quoted(job)
        await client.approve(job_id)
        self.screen.approved()
        with self.screen.running(len(rows)) as show:
            job = await self._while(client, job_id, _RUNNING, show)
        _require(job, "done")
        self.screen.answered(await client.result(job_id), rows)
        self.screen.charged(job)
        await self._run_encoders(client, rows)
        return job_id

    async def _run_encoders(self, client: BatchClient, rows: list[Row]) -> None:
        """The same rows as vectors and as decisions, in two jobs at once."""
        self.screen.two_more(self.embedder, self.decider)
        with self.screen.waiting("pricing and running both"):
            vectors, decided = await asyncio.gather(
                self._quietly(client, embeddings(rows), self.embedder),
                self._quietly(client, decisions(rows), self.decider),
            )
        self.screen.embedded(*vectors)
        self.screen.decided(*decided)

    async def _quietly(self, client: BatchClient, content: bytes, model: str) -> tuple[list[Line], dict[str, Any]]:
        """A job from upload to result: its lines, and the job at its end."""
        job_id = await client.submit(await client.upload(content), model)
        _require(await self._while(client, job_id, _BEFORE_QUOTE), "cost_ready")
        await client.approve(job_id)
        job = await self._while(client, job_id, _RUNNING)
        _require(job, "done")
        return await client.result(job_id), job

    async def _while(
        self, client: BatchClient, job_id: str, statuses: frozenset[str], show: Any = lambda job: None
    ) -> dict[str, Any]:
        """Poll while the job is in one of these statuses; the job as it left them."""
        seen, since = None, monotonic()
        while True:
            job = await client.job(job_id)
            show(job)
            if job["status"] not in statuses:
                return job
            now = (job["status"], job.get("progress"))
            if now != seen:
                seen, since = now, monotonic()
            elif monotonic() - since > _STALLED_S:
                raise DemoError(f"The job does not move on from {job['status']}; var/logs/worker-*.log may say why.")
            await asyncio.sleep(_POLL_S)


def _require(job: dict[str, Any], status: str) -> None:
    if job["status"] != status:
        reason = job.get("failure_reason") or "var/logs/worker-*.log may say why"
        raise DemoError(f"The job ended as {job['status']}: {reason.rstrip('.')}.")
