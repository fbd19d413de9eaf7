"""A tiny batch API after references 001 and 003, which checks what a client must send."""

import json
from typing import Any

from aiohttp import web

KEY = "sk-abcdefghijklsecret"
UPLOADED = web.AppKey("uploaded", list)
ENDING = web.AppKey("ending", str)
STEPS = web.AppKey("steps", list)
JOB = {
    "id": "0f7d", "est_input_tok": 2817, "est_output_tok": 2220, "est_cost_cents": 3, "charge_cents": 1,
    "failure_reason": None, "progress": {"rows_done": 0, "rows_total": 2},
}  # fmt: skip


def application(ending: str = "done") -> web.Application:
    """`ending` is the status the job reaches after its approval."""
    app = web.Application(middlewares=[authenticated])
    app[UPLOADED], app[ENDING] = [], ending
    app[STEPS] = [{"status": "submitted"}, {"status": "estimating"}, {"status": "cost_ready"}]
    app.router.add_post("/batch/v1/inputs", create_input)
    app.router.add_post("/store", upload)
    app.router.add_post("/batch/v1/jobs", create_job)
    app.router.add_get("/batch/v1/jobs/0f7d", get_job)
    app.router.add_post("/batch/v1/jobs/0f7d/approve", approve)
    app.router.add_get("/batch/v1/jobs/0f7d/result", result_link)
    app.router.add_get("/store/result", download)
    return app


@web.middleware
async def authenticated(request: web.Request, handler: Any) -> web.StreamResponse:
    if request.path.startswith("/batch/") and request.headers.get("Authorization") != f"Bearer {KEY}":
        return web.json_response({"detail": "The API key is invalid or no longer active."}, status=401)
    return await handler(request)


async def create_input(request: web.Request) -> web.Response:
    assert await request.json() == {"format": "jsonl"}
    fields = {"key": "inputs/1", "policy": "p", "signature": "s"}
    target = str(request.url.with_path("/store"))
    return web.json_response(
        {"id": "1a2b", "status": "awaiting_upload", "upload_url": target, "fields": fields}, status=201
    )


async def upload(request: web.Request) -> web.Response:
    names = []
    async for part in await request.multipart():
        names.append(part.name)
        if part.name == "file":
            request.app[UPLOADED].extend(json.loads(line) for line in (await part.read()).splitlines())
    assert names == ["key", "policy", "signature", "file"]
    return web.Response(status=204)


async def create_job(request: web.Request) -> web.Response:
    assert await request.json() == {"input_id": "1a2b", "model": "smollm2-135m-instruct"}
    return web.json_response({"id": "0f7d", "status": "submitted"}, status=201)


async def get_job(request: web.Request) -> web.Response:
    steps = request.app[STEPS]
    now = steps.pop(0) if len(steps) > 1 else steps[0]
    return web.json_response(JOB | now)


async def approve(request: web.Request) -> web.Response:
    running = [{"status": "in_progress", "progress": {"rows_done": done, "rows_total": 2}} for done in (0, 1, 2)]
    ending = {"status": request.app[ENDING], "failure_reason": "the model went away"}
    request.app[STEPS][:] = [*running, {"status": "finalizing"}, ending]
    return web.json_response({"id": "0f7d", "status": "in_progress"})


async def result_link(request: web.Request) -> web.Response:
    url = str(request.url.with_path("/store/result"))
    return web.json_response({"id": "0f7d", "status": "done", "result_url": url, "expires_in": 3600})


async def download(request: web.Request) -> web.Response:
    body = {"choices": [{"message": {"content": "It answers\nHTTP [requests]."}}]}
    lines = [
        {"custom_id": "aiohttp", "response": {"status_code": 200, "body": body}, "error": None},
        {"custom_id": "click", "response": None, "error": "The model gave no answer."},
    ]
    return web.Response(text="".join(json.dumps(line) + "\n" for line in lines))
