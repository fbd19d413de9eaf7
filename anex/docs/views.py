"""The API description and the chat templates as files, and three pages; everything is served from here."""

from typing import Any

from csp.decorators import csp_update
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import etag, require_safe
from django.views.decorators.vary import vary_on_headers

from anex.core.error_catalogue import SECTIONS
from anex.docs import chat_templates, description, error_page
from inference.refusals import SENTENCES

# Both readers put styles into the page while they run; Redoc searches in a worker it makes itself.
_READER = {"style-src": ["'self'", "'unsafe-inline'"], "worker-src": ["'self'", "blob:"]}


@require_safe
@cache_control(public=True, max_age=300)
def openapi_json(request: HttpRequest) -> HttpResponse:
    """`/openapi.json`."""
    return _file(description.as_json(), "application/json")


@require_safe
@cache_control(public=True, max_age=300)
def openapi_yaml(request: HttpRequest) -> HttpResponse:
    """`/openapi.yaml`."""
    return _file(description.as_yaml(), "application/yaml")


@require_safe
@cache_control(public=True, max_age=300)
@etag(lambda request, model_id: chat_templates.etag(chat_templates.of(model_id)))
def chat_template(request: HttpRequest, model_id: str) -> HttpResponse:
    """`/static/chat-templates/<model-id>.jinja`: the template as the checkpoint publishes it."""
    content = chat_templates.of(model_id)
    if content is None:
        raise Http404
    return _file(content, "text/plain; charset=utf-8")


@require_safe
@cache_control(public=True, max_age=300)
@etag(lambda request: chat_templates.etag(chat_templates.index()))
def chat_template_index(request: HttpRequest) -> HttpResponse:
    """`/static/chat-templates/index.json`: every template, with the file it was copied from."""
    return _file(chat_templates.index(), "application/json")


@require_safe
@cache_control(public=True, max_age=300)
@vary_on_headers("Accept")
def errors(request: HttpRequest) -> HttpResponse:
    """`/docs/errors`: every code; Markdown for who asks for it, by `Accept` or `?format=md`."""
    wanted = request.get_preferred_type(["text/html", "text/markdown"])
    if wanted == "text/markdown" or request.GET.get("format") == "md":
        return _file(error_page.markdown().encode(), "text/markdown; charset=utf-8")
    return render(request, "docs/errors.html", _error_page())


@require_safe
@csp_update(_READER)
def swagger(request: HttpRequest) -> HttpResponse:
    """The description in Swagger UI, with requests to try."""
    return render(request, "docs/swagger.html")


@require_safe
@csp_update(_READER)
def redoc(request: HttpRequest) -> HttpResponse:
    """The description in Redoc, to read."""
    return render(request, "docs/redoc.html")


def _error_page() -> dict[str, Any]:
    marked, charge_word = error_page.marked, error_page.charge_word
    sections = [
        (title, [(entry, charge_word(entry), marked(entry.meaning)) for entry in entries])
        for title, entries in SECTIONS.items()
    ]
    words = [
        (marked(about), [(word, marked(meaning)) for word, meaning in meanings.items()])
        for about, meanings in (
            (error_page.ABOUT_RETRY, error_page.RETRY),
            (error_page.ABOUT_CHARGED, error_page.CHARGED),
        )
    ]
    return {
        "head": marked(error_page.HEAD),
        "held_back": marked(error_page.HELD_BACK),
        "words": words,
        "sections": sections,
        "about_rows": marked(error_page.ROWS),
        "rows": SENTENCES.items(),
    }


def _file(content: bytes, media_type: str) -> HttpResponse:
    response = HttpResponse(content, content_type=media_type)
    # Generators and readers on other hosts may load it; it names no secret.
    response["Access-Control-Allow-Origin"] = "*"
    return response
