"""Markdown as the docs write it, as HTML in the console's components, with its sections for the search.

HTML inside Markdown is not taken, so an operator's file cannot bring a script along.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any, Final

from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

# What a language of a code block is called on its tab.
_LANGUAGES: Final = {"sh": "curl", "python": "Python", "js": "JavaScript"}


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, its anchor and level (1 for the page itself), and the plain text below it up to the next heading."""

    anchor: str
    level: int
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page as HTML, and its sections."""

    html: str
    sections: tuple[Section, ...]

    @property
    def contents(self) -> tuple[Section, ...]:
        """What stands in the list "On this page"."""
        return tuple(section for section in self.sections if section.level in (2, 3))


class _Html(RendererHTML):
    def table_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        """A table scrolls inside itself, by keyboard too, where the screen is narrow."""
        return '<div class="doc-table" tabindex="0" role="group" aria-label="Table"><table class="table">'

    def table_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return "</table></div>"

    def tr_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        """A row that is named by a code can be linked to, where nothing else on the page has its name."""
        name = _code_in_front(tokens, index)
        if name is None or name in env["anchors"]:
            return "<tr>\n"
        env["anchors"].add(name)
        return f'<tr id="{escape(name)}">\n'

    def th_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        """A column without a name has no header."""
        return '<th scope="col">' if tokens[index + 1].content else "<td>"

    def th_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return "</th>\n" if tokens[index - 1].content else "</td>\n"

    def heading_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        opening = tokens[index - 2]
        title = escape(_plain(tokens[index - 1]))
        link = f' <a class="doc-anchor" href="#{opening.attrGet("id")}" aria-label="Link to: {title}">#</a>'
        return f"{link if opening.tag != 'h1' else ''}</{opening.tag}>\n"

    def tabs(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        """One code block, or the same thing in several languages."""
        env["blocks"] = env.get("blocks", 0) + 1
        name = f"code-{env['blocks']}"
        blocks = [
            {
                "id": f"{name}-{number}",
                "name": _LANGUAGES.get(language := block.info.split(" ")[0], language or "text"),
                "text": block.content.removesuffix("\n"),
            }
            for number, block in enumerate(tokens[index].children or ())
        ]
        return render_to_string("docs/code.html", {"name": name, "blocks": blocks})


_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Html).enable("table")


@lru_cache(maxsize=128)
def render(text: str) -> Rendered:
    """A page from its Markdown."""
    env: dict[str, Any] = {}
    tokens = list(_grouped(_MARKDOWN.parse(text, env)))
    env["anchors"] = _name_headings(tokens)
    return Rendered(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, env), tuple(_sections(tokens)))


def _grouped(tokens: Sequence[Token]) -> Iterator[Token]:
    """Code blocks that follow each other in different languages become one token, with them as its children."""
    for is_fence, run in groupby(tokens, lambda token: token.type == "fence"):
        blocks = list(run)
        if not is_fence:
            yield from blocks
            continue
        together: list[Token] = []
        for block in blocks:
            language = block.info.split(" ")[0]
            if together and (language not in _LANGUAGES or any(other.info == block.info for other in together)):
                yield Token("tabs", "", 0, children=together)
                together = []
            together.append(block)
        yield Token("tabs", "", 0, children=together)


def _name_headings(tokens: Sequence[Token]) -> set[str]:
    taken: set[str] = set()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            wanted = slugify(re.sub(r"[/{}_.]", "-", _plain(inline))) or "section"
            anchor = next(name for name in _names(wanted) if name not in taken)
            taken.add(anchor)
            opening.attrSet("id", anchor)
    return taken


def _code_in_front(tokens: Sequence[Token], index: int) -> str | None:
    children = tokens[index + 2].children if tokens[index + 1].type == "td_open" else None
    if (
        children
        and len(children) == 1
        and children[0].type == "code_inline"
        and re.fullmatch(r"\w+", children[0].content)
    ):
        return children[0].content
    return None


def _names(wanted: str) -> Iterator[str]:
    yield wanted
    number = 2
    while True:
        yield f"{wanted}-{number}"
        number += 1


def _sections(tokens: Sequence[Token]) -> Iterator[Section]:
    heading, words = None, list[str]()
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            if heading:
                yield Section(*heading, text=_joined(words))
            heading, words = (str(token.attrGet("id")), int(token.tag[1]), _plain(tokens[index + 1])), []
        elif token.type == "inline" and tokens[index - 1].type != "heading_open":
            words.append(_plain(token))
        elif token.type == "tabs":
            words += [block.content for block in token.children or ()]
    if heading:
        yield Section(*heading, text=_joined(words))


def _plain(inline: Token) -> str:
    return "".join(
        child.content if child.type in ("text", "code_inline") else " " if child.type == "softbreak" else ""
        for child in inline.children or ()
    )


def _joined(words: Sequence[str]) -> str:
    return " ".join(" ".join(words).split())
