"""A tiny batch API after references 001 and 003, which checks what a client must send."""

import json
from typing import Any

from aiohttp import web

KEY = "sk-abcdefghijklsecret"
UPLOADED = web.AppKey("uploaded", list)
ENDING = web.AppKey("ending", str)
STEPS = web.AppKey("steps", dict)
JOBS = {"smollm2-135m-instruct": "0f7d", "minilm-l6-v2": "1e8c", "minilm-decide": "2d9b"}
JOB = {
    "est_input_tok": 2817, "est_output_tok": 2220, "est_cost_cents": 3, "charge_cents": 1,
    "failure_reason": None, "progress": {"rows_done": 0, "rows_total": 2},
}  # fmt: skip


def application(ending: str = "done") -> web.Application:
    """`ending` is the status the job reaches after its approval."""
    app = web.Application(middlewares=[authenticated])
    app[UPLOADED], app[ENDING] = [], ending
    first = [{"status": "submitted"}, {"status": "estimating"}, {"status": "cost_ready"}]
    app[STEPS] = {job: list(first) for job in JOBS.values()}
    app.router.add_post("/batch/v1/inputs", create_input)
    app.router.add_post("/store", upload)
    app.router.add_post("/batch/v1/jobs", create_job)
    app.router.add_get("/batch/v1/jobs/{job}", get_job)
    app.router.add_post("/batch/v1/jobs/{job}/approve", approve)
    app.router.add_get("/batch/v1/jobs/{job}/result", result_link)
    app.router.add_get("/store/{job}", download)
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
    asked = await request.json()
    assert asked.pop("max_output_tokens", 120) == 120
    assert asked == {"input_id": "1a2b", "model": asked["model"]}
    return web.json_response({"id": JOBS[asked["model"]], "status": "submitted"}, status=201)


async def get_job(request: web.Request) -> web.Response:
    job = request.match_info["job"]
    steps = request.app[STEPS][job]
    now = steps.pop(0) if len(steps) > 1 else steps[0]
    return web.json_response({"id": job} | JOB | now)


async def approve(request: web.Request) -> web.Response:
    running = [{"status": "in_progress", "progress": {"rows_done": done, "rows_total": 2}} for done in (0, 1, 2)]
    ending = {"status": request.app[ENDING], "failure_reason": "the model went away"}
    job = request.match_info["job"]
    request.app[STEPS][job][:] = [*running, {"status": "finalizing"}, ending]
    return web.json_response({"id": job, "status": "in_progress"})


async def result_link(request: web.Request) -> web.Response:
    job = request.match_info["job"]
    url = str(request.url.with_path(f"/store/{job}"))
    return web.json_response({"id": job, "status": "done", "result_url": url, "expires_in": 3600})


async def download(request: web.Request) -> web.Response:
    chat = {"choices": [{"message": {"content": "It answers\nHTTP [requests]."}}]}
    if request.match_info["job"] == JOBS["smollm2-135m-instruct"]:
        lines = [line("aiohttp", chat), line("click", None)]
    elif request.match_info["job"] == JOBS["minilm-l6-v2"]:
        vectors = {"aiohttp": [1.0, 0.0], "yarl": [0.8, 0.6], "click": [0.0, 1.0]}
        lines = [line(name, {"data": [{"embedding": vector}]}) for name, vector in vectors.items()]
    else:
        choices = {"aiohttp": "web", "click": "development", "yarl": "web"}
        lines = [line(name, {"answers": {"about": {"choice": choice}}}) for name, choice in choices.items()]
    return web.Response(text="".join(json.dumps(made) + "\n" for made in lines))


def line(name: str, body: dict[str, Any] | None) -> dict[str, Any]:
    if body is None:
        return {"custom_id": name, "response": None, "error": "The model gave no answer."}
    return {"custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}
