"""`anex submit`."""

import json
import time
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from anex.cli import approving, jobs, uploads
from anex.cli.account import current
from anex.cli.client import Client
from anex.cli.failures import Exit, Failure
from anex.cli.options import AsJson, MaxCost
from anex.cli.screen import screen

_COPY_POLL_S: Final = 1.0

File = Annotated[
    str, typer.Argument(metavar="FILE", help="Rows as .jsonl or .parquet, or an https URL of such a file.")
]
Model = Annotated[str, typer.Option("--model", "-m", help="The model's exact id; anex models lists some.")]
MaxOutput = Annotated[
    int | None, typer.Option(min=1, help="Most tokens of an answer; estimated from a sample if left out.")
]
Reasoning = Annotated[bool | None, typer.Option(help="Whether rows that do not say so think.")]
Budget = Annotated[int | None, typer.Option(min=0, help="Most tokens to think with; 0 is no cap.")]
Effort = Annotated[str | None, typer.Option(help="How hard the model thinks, on models with levels.")]
Temperature = Annotated[float | None, typer.Option(min=0, max=2, help="Of rows that name none.")]
Frames = Annotated[float | None, typer.Option(help="Frames per second that are read from clips.")]
Format = Annotated[str | None, typer.Option(help="What answers must look like: JSON, or @FILE with it.")]
Width = Annotated[int | None, typer.Option(min=1, help="Width of vectors, on embedding models.")]
Window = Annotated[str | None, typer.Option("--window", help="24h, or 1h at a higher price on models that offer it.")]
Priority = Annotated[int | None, typer.Option(help="Among your own jobs the higher number runs first.")]
Residency = Annotated[str | None, typer.Option(help="Where the data is kept and run: world or eu.")]
Approve = Annotated[bool, typer.Option("--approve", help="Approve the quote as soon as it is there; needs --max-cost.")]
Watch = Annotated[bool, typer.Option("--watch", help="Stay until the job is over.")]


def submit(  # noqa: PLR0917 (each is an option by its name)
    file: File,
    model: Model,
    max_output_tokens: MaxOutput = None,
    reasoning: Reasoning = None,
    reasoning_budget: Budget = None,
    reasoning_effort: Effort = None,
    temperature: Temperature = None,
    video_fps: Frames = None,
    response_format: Format = None,
    dimensions: Width = None,
    completion_window: Window = None,
    priority: Priority = None,
    data_residency: Residency = None,
    approve: Approve = False,
    max_cost: MaxCost = None,
    watch: Watch = False,
    as_json: AsJson = False,
) -> None:
    """Upload a file of rows and make a job of it. Prints the job's id.

    Nothing is charged before the quote is approved. A file that was uploaded before and has not changed is not uploaded
    again.
    """
    if approve and max_cost is None:
        raise Failure("--approve needs --max-cost: the most dollars the job may cost.", exit_status=Exit.USAGE)
    options = {
        "max_output_tokens": max_output_tokens,
        "reasoning": reasoning,
        "reasoning_budget": reasoning_budget,
        "reasoning_effort": reasoning_effort,
        "temperature": temperature,
        "video_fps": video_fps,
        "response_format": _json_of(response_format),
        "dimensions": dimensions,
        "completion_window": completion_window,
        "priority": priority,
        "data_residency": data_residency,
    }
    given = {name: value for name, value in options.items() if value is not None}
    with Client(current(), screen.tell) as client:
        input_id = _copied(client, file, data_residency) if "://" in file else uploads.store(client, _path(file))
        job = client.create("/batch/v1/jobs", {"input_id": input_id, "model": model, **given})
        if approve and max_cost is not None:
            screen.tell(f"Job {job['id']} is submitted.")
            job = approving.accept(client, job["id"], max_cost=max_cost)
        if watch:
            job = jobs.follow(client, job["id"])
    screen.answer(job, str(job["id"]))
    if not approve:
        screen.tell(f"Its price: anex estimate {job['id']}")
    jobs.require_done(job) if watch else None


def _path(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise Failure(f"There is no file {text}.", exit_status=Exit.USAGE)
    return path


def _copied(client: Client, url: str, residency: str | None) -> str:
    """An input that the server copies from a URL, once it is there."""
    body = {"source_url": url, "data_residency": residency}
    source = client.create("/batch/v1/inputs", {name: value for name, value in body.items() if value})
    screen.tell("The server copies the file.")
    while source["status"] in ("pending", "copying"):
        time.sleep(_COPY_POLL_S)
        source = client.get(f"/batch/v1/inputs/{source['id']}")
    if source["status"] != "ready":
        raise Failure(source["error"] or f"The input is {source['status']}.")
    return str(source["id"])


def _json_of(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(Path(text[1:]).read_text() if text.startswith("@") else text)
    except OSError as error:
        raise Failure(f"{text[1:]} cannot be read: {error.strerror}.", exit_status=Exit.USAGE) from error
    except ValueError as error:
        raise Failure(f"--response-format is no JSON: {error}.", exit_status=Exit.USAGE) from error
