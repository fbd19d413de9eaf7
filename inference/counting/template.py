"""Renders chat templates as Hugging Face and the model servers do: sandboxed Jinja with their settings."""

import json
from typing import Any

from jinja2 import Template, TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from anex.core import clock
from inference.refusals import RowError, row_error


class Refusal(TemplateError):
    """The template called `raise_exception`: it does not take these messages."""


def compile_template(source: str) -> Template:
    """A template ready to render; it may call `raise_exception` and `strftime_now`, and filter with `tojson`."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: clock.now().strftime(form)
    return environment.from_string(source)


def refused(model_id: str, reason: str) -> RowError:
    """What a row is told whose messages a chat template does not take."""
    return row_error("template_refused", "body.messages", model=model_id, reason=reason[:200])


def _refuse(message: str) -> None:
    raise Refusal(message)


def _tojson(value: Any, indent: int | None = None) -> str:
    # Jinja's own filter escapes HTML, which would put other characters before the model.
    return json.dumps(value, ensure_ascii=False, indent=indent)
