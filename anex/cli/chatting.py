"""`anex chat`."""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

import typer

from anex.cli.account import current
from anex.cli.client import Client
from anex.cli.failures import Exit, Failure, of_status
from anex.cli.models import price
from anex.cli.options import AsJson
from anex.cli.screen import count, screen
from anex.core.money import NANO_PER_DOLLAR, format_dollars

Message = dict[str, str]

Text = Annotated[
    str | None, typer.Argument(metavar="TEXT", help="What to say. Left out, it is read from stdin, or a talk begins.")
]
Model = Annotated[str, typer.Option("--model", "-m", help="The model's exact id; anex models lists them.")]
System = Annotated[str | None, typer.Option(help="What the model is told before the talk.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Most tokens of an answer.")]
Temperature = Annotated[float | None, typer.Option(min=0, max=2, help="Sampling temperature.")]


@dataclass(slots=True)
class Answer:
    """What a model said, and what it took. Times are seconds."""

    content: str = ""
    finish_reason: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    first_s: float | None = None
    took_s: float = 0.0


def chat(  # noqa: PLR0917 (each is an option by its name)
    model: Model,
    text: Text = None,
    system: System = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    as_json: AsJson = False,
) -> None:
    """Talk to a model; the answer appears as it is written. Ctrl-C stops it: what was written by then is charged."""
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    options = {"max_tokens": max_tokens, "temperature": temperature}
    body = {"model": model, **{name: value for name, value in options.items() if value is not None}}
    said = text if text is not None or sys.stdin.isatty() else sys.stdin.read()
    with Client(current(), screen.tell) as client:
        if said is None:
            _talk(client, body, messages)
            return
        if not said.strip():
            raise Failure("There is nothing to say: name a text, or send one on stdin.", exit_status=Exit.USAGE)
        answer = _ask(client, body, [*messages, {"role": "user", "content": said}])
        spent = _spent(client, model, answer)
    _tell(answer, spent)
    if screen.as_json:
        document = {
            "model": model,
            "content": answer.content,
            "finish_reason": answer.finish_reason,
            "usage": answer.usage,
            "seconds_to_first_token": answer.first_s and round(answer.first_s, 3),
            "seconds": round(answer.took_s, 3),
            "cost_usd": spent and f"{spent:f}",
        }
        screen.answer(document, "")


def _talk(client: Client, body: dict[str, Any], messages: list[Message]) -> None:
    """Turn by turn until the input ends."""
    if screen.as_json:
        raise Failure("With --json, name a text or send one on stdin.", exit_status=Exit.USAGE)
    screen.tell("Ctrl-D ends the talk.")
    while True:
        try:
            said = input("> ")
        except EOFError:
            return
        if said.strip():
            messages.append({"role": "user", "content": said})
            answer = _ask(client, body, messages)
            messages.append({"role": "assistant", "content": answer.content})
            _tell(answer, _spent(client, body["model"], answer))


def _ask(client: Client, body: dict[str, Any], messages: list[Message]) -> Answer:
    answer, begun = Answer(), time.monotonic()
    asked = body | {"messages": messages, "stream": True, "stream_options": {"include_usage": True}}
    with client.streaming("/v1/chat/completions", asked) as lines:
        for chunk in _chunks(lines):
            answer.usage = chunk.get("usage") or answer.usage
            for choice in chunk.get("choices") or ():
                piece = (choice.get("delta") or {}).get("content") or ""
                answer.finish_reason = choice.get("finish_reason") or answer.finish_reason
                if piece and answer.first_s is None:
                    answer.first_s = time.monotonic() - begun
                answer.content += piece
                if not screen.as_json:
                    screen.write(piece)
    answer.took_s = time.monotonic() - begun
    if not screen.as_json:
        screen.write("\n")
    return answer


def _chunks(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """The events of a stream. Raises Failure for an error among them, and where it ends before its end."""
    for line in lines:
        name, _, data = line.partition(":")
        if name != "data":
            continue
        if data.strip() == "[DONE]":
            return
        try:
            chunk = json.loads(data)
        except ValueError:
            break
        if error := chunk.get("error"):
            raise of_status(int(error.get("status") or 500), str(error.get("message")), error.get("code"))
        yield chunk
    raise Failure("The answer broke off.", exit_status=Exit.TRY_LATER)


def _spent(client: Client, model: str, answer: Answer) -> Decimal | None:
    """Dollars at the listed prices of the tokens that the server counted."""
    entry = client.get(f"/v1/models/{model}")
    prompt, cached_prompt, completion = (price(entry, kind) for kind in ("prompt", "cached_prompt", "completion"))
    if not answer.usage or prompt is None or completion is None:
        return None
    asked, written = int(answer.usage.get("prompt_tokens", 0)), int(answer.usage.get("completion_tokens", 0))
    cached = int((answer.usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    cheap = prompt if cached_prompt is None else cached_prompt
    return (asked - cached) * prompt + cached * cheap + written * completion


def _tell(answer: Answer, spent: Decimal | None) -> None:
    usage = answer.usage
    parts = [f"{count(usage.get('prompt_tokens'))} tokens in, {count(usage.get('completion_tokens'))} out"]
    if answer.first_s is not None:
        writing = answer.took_s - answer.first_s
        parts.append(f"first after {answer.first_s:.2f} s")
        if writing > 0 and usage.get("completion_tokens", 0) > 1:
            parts.append(f"{usage['completion_tokens'] / writing:.0f} tokens/s")
    if spent is not None:
        parts.append(format_dollars(round(spent * NANO_PER_DOLLAR)))
    if answer.finish_reason == "length":
        parts.append("cut at the most tokens")
    screen.tell(f"[{', '.join(parts)}]")
