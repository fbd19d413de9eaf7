"""Renders chat templates as Hugging Face and the model servers do: sandboxed Jinja with their settings."""

import json
from pathlib import Path
from typing import Any

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from anex.core import clock
from anex.core.errors import Unavailable
from inference.refusals import RowError, row_error

_OF_DICTS = frozenset(dir(dict))


class Refusal(TemplateError):
    """The template called `raise_exception`: it does not take these messages."""


class _Generation(Extension):
    """`{% generation %}` marks what an assistant wrote, for training; what is inside is rendered as it stands."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The statements up to `{% endgeneration %}`."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox, with a shorter way to the same value of a key that is written like an attribute (`message.role`)."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A key of a plain dict that hides none of its methods; everything else as ever."""
        if type(obj) is dict and attribute in obj and attribute not in _OF_DICTS:
            return obj[attribute]
        return super().getattr(obj, attribute)


def compile_template(source: str) -> Template:
    """A template ready to render; it may call `raise_exception` and `strftime_now`, and filter with `tojson`."""
    extensions = [loopcontrols, _Generation]
    environment = _Environment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: clock.now().strftime(form)
    return environment.from_string(source)


def compile_file(path: Path) -> Template:
    """The template of a file; `Unavailable` where it cannot be read or is none."""
    try:
        return compile_template(path.read_bytes().decode())
    except (OSError, UnicodeDecodeError, TemplateError) as error:
        raise Unavailable(f"The chat template {path} cannot be used: {error}") from error


def render(template: Template, messages: list[dict[str, Any]], settings: dict[str, Any]) -> str:
    """The prompt of a chat; whatever a template can raise comes through.

    What a request does not carry is null to the template, not undefined, as with the servers.
    """
    always = {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": True}
    return template.render(always | settings)


def refused(model_id: str, reason: str) -> RowError:
    """What a row is told whose messages a chat template does not take."""
    return row_error("template_refused", "body.messages", model=model_id, reason=reason[:200])


def _refuse(message: str) -> None:
    raise Refusal(message)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    # Jinja's own filter escapes HTML, which would put other characters before the model.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
