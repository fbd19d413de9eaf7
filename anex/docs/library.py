"""The pages of the docs: Markdown files with a head, whose figures are filled in before anybody reads them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from django.template import Context, Engine

from anex.docs import markdown
from anex.settings.environment import BASE_DIR

PAGES: Final = Path(__file__).parent / "pages"
_ENGINE: Final = Engine(autoescape=False, string_if_invalid="")


@dataclass(frozen=True, slots=True)
class Document:
    """Something to read: where it is, what it is called, one sentence about it, and its Markdown, heading included."""

    path: str
    title: str
    description: str
    text: str

    @property
    def rendered(self) -> markdown.Rendered:
        """As HTML, with its sections."""
        return markdown.render(self.text)


class Page(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The head of a page's file. `group` and `order` say where it stands in the navigation.

    A page with a `file` is one of the repository's own pages, as it stands there.
    """

    title: str
    description: str
    group: str
    order: int
    file: str = ""
    slug: str = ""
    source: str = ""

    @property
    def path(self) -> str:
        """Where it is read."""
        return f"/docs/{self.slug}" if self.slug else "/docs"

    def fill(self, facts: Mapping[str, Any]) -> Document:
        """The page with its figures."""
        text = _template(self.source).render(Context(dict(facts), autoescape=False)) if not self.file else self.source
        return Document(self.path, self.title, self.description, f"# {self.title}\n\n{text.strip()}\n")


@cache
def pages() -> tuple[Page, ...]:
    """Every page in the order of the navigation; a file named `index` is the one at `/docs`."""
    return tuple(sorted((_read(path) for path in PAGES.glob("*.md")), key=lambda page: page.order))


def get(slug: str) -> Page | None:
    """The page of this name; the empty one is the overview."""
    return next((page for page in pages() if page.slug == slug), None)


def split(text: str) -> tuple[str, str]:
    """The YAML head of a Markdown file, empty where it has none, and the rest."""
    if not text.startswith("---\n"):
        return "", text
    head, _, rest = text.removeprefix("---\n").partition("\n---\n")
    return head, rest


def _read(path: Path) -> Page:
    head, source = split(path.read_text())
    page = msgspec.yaml.decode(head, type=Page)
    if page.file:
        source = _linked((BASE_DIR / "docs" / page.file).read_text().split("\n", 1)[1])
    return msgspec.structs.replace(page, slug="" if path.stem == "index" else path.stem, source=source)


def _linked(text: str) -> str:
    """Links between files of the repository as links between pages."""
    return re.sub(r"\]\(([a-z-]+)\.md(#[\w-]+)?\)", r"](/docs/\1\2)", text)


@cache
def _template(source: str) -> Any:
    return _ENGINE.from_string(source)
