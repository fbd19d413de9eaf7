"""How a document is answered: as Markdown to who asks for it, else as a page in the console's look."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.html import escape
from django.utils.safestring import mark_safe

from accounts.access import acting
from accounts.selectors import keys
from anex.docs import library
from anex.docs.library import Document, Page

# What samples say in place of a key.
PLACEHOLDER = "sk-…"


def answer(request: HttpRequest, document: Document, *, as_markdown: bool = False, **context: Any) -> HttpResponse:
    """The document, by `Accept` unless the path has said so already."""
    wanted = request.get_preferred_type(["text/html", "text/markdown"])
    if as_markdown or wanted == "text/markdown" or request.GET.get("format") == "md":
        response = HttpResponse(document.text, content_type="text/markdown; charset=utf-8")
        response["Access-Control-Allow-Origin"] = "*"
        patch_cache_control(response, public=True, max_age=60)
    else:
        response = render(request, "docs/page.html", _page(request, document) | context)
        patch_cache_control(response, private=True, no_cache=True)
    patch_vary_headers(response, ["Accept", "Cookie"])
    return response


def navigation() -> list[tuple[str, list[Page]]]:
    """The pages by group, in their order."""
    groups: dict[str, list[Page]] = {}
    for page in library.pages():
        groups.setdefault(page.group, []).append(page)
    return list(groups.items())


def _page(request: HttpRequest, document: Document) -> dict[str, Any]:
    rendered = document.rendered
    html = rendered.html
    if PLACEHOLDER in html and (prefix := _key_prefix(request)):
        html = html.replace(PLACEHOLDER, escape(f"{prefix}…"))
    order = [page.path for page in library.pages()]
    at = order.index(document.path) if document.path in order else None
    return {
        "document": document,
        "html": mark_safe(html),  # noqa: S308 - written by our renderer, which takes no HTML
        "contents": rendered.contents,
        "navigation": navigation(),
        "before": library.pages()[at - 1] if at else None,
        "after": library.pages()[at + 1] if at is not None and at + 1 < len(order) else None,
    }


def _key_prefix(request: HttpRequest) -> str:
    """How the newest working key of a signed-in person's organization begins; the rest of it nobody can read again."""
    member = acting(request) if request.user.is_authenticated else None
    found = keys.page(member.organization.pk, size=1).keys if member else []
    return f"sk-{found[0].pk}" if found else ""
