"""What only an operator can say: terms, privacy, support, a blog, publishers' figures, where servers stand.

Files of the folder ANEX_SITE_DIR, read anew whenever somebody asks. Where one is missing the page says so and invents
nothing; one that cannot be read is as missing, and named in the log.
"""

import logging
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import msgspec
from django.conf import settings

from anex.docs import library
from anex.docs.library import Document

log = logging.getLogger(__name__)

# Pages of the operator's: their path, title, and what is missing without the file.
PAGES: Final = {
    "terms": ("Terms", "the terms of use of this installation, refunds and cancellation included"),
    "privacy": ("Privacy", "what this installation stores, for how long and who may read it"),
    "support": ("Support", "how to reach the people who run this installation"),
}
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,99}")


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The head of an operator's file; a post of the blog needs its date."""

    title: str | None = None
    description: str = ""
    day: date | None = msgspec.field(default=None, name="date")


@dataclass(frozen=True, slots=True)
class Post:
    """A post of the blog."""

    slug: str
    day: date
    document: Document


def page(name: str) -> tuple[Document, bool]:
    """One of PAGES, and whether the operator has written it."""
    title, about = PAGES[name]
    if found := _read(f"{name}.md"):
        head, text = found
        return Document(f"/{name}", head.title or title, head.description or f"{title}: {about}.", text), True
    text = (
        f"# {title}\n\nThe operator of this installation has not written this page yet. "
        f"It is the place for {about}.\n\n"
        f"Operators: put `{name}.md` into the folder that `ANEX_SITE_DIR` names "
        "([self-hosting](/docs/self-hosting#your-own-pages)).\n"
    )
    return Document(f"/{name}", title, f"This page is not written yet: {about}.", text), False


def posts() -> list[Post]:
    """The posts of the blog, the newest first; a file without a date is a draft."""
    folder = _folder()
    names = sorted((folder / "blog").glob("*.md")) if folder else []
    found = (_post(path.stem) for path in names if _NAME.fullmatch(path.stem))
    return sorted((post for post in found if post), key=lambda post: (post.day, post.slug), reverse=True)


def post(slug: str) -> Post | None:
    """One of them."""
    return _post(slug) if _NAME.fullmatch(slug) else None


def about_model(model_id: str) -> str:
    """What the operator says about a model, such as its publisher's scores; empty where there is nothing."""
    found = _read(f"models/{model_id}.md")
    return found[1] if found else ""


def locations() -> str:
    """Where the operator's servers stand, as far as the operator says so."""
    found = _read("locations.md")
    return found[1] if found else ""


def _post(slug: str) -> Post | None:
    found = _read(f"blog/{slug}.md")
    head, text = found or (Head(), "")
    if head.day is None:
        return None
    title = head.title or slug
    whole = text if text.startswith("# ") else f"# {title}\n\n{head.day:%-d %B %Y}\n\n{text}"
    return Post(slug, head.day, Document(f"/blog/{slug}", title, head.description, whole))


def _read(name: str) -> tuple[Head, str] | None:
    folder = _folder()
    if folder is None or not (path := folder / name).is_file():
        return None
    try:
        head, text = library.split(path.read_text(encoding="utf-8"))
        return msgspec.yaml.decode(head, type=Head) if head else Head(), text
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        log.error("the site's file %s cannot be read: %s", name, error)
        return None


def _folder() -> Path | None:
    folder: Path | None = settings.ANEX_SITE_DIR
    return folder
