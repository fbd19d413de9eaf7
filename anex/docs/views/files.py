"""The API description, the chat templates and a page to try calls; everything is served from here."""

from csp.decorators import csp_update
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import etag, require_safe

from anex.docs import chat_templates, description

# Swagger UI puts styles into the page while it runs.
_READER = {"style-src": ["'self'", "'unsafe-inline'"]}


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
@csp_update(_READER)
def swagger(request: HttpRequest) -> HttpResponse:
    """The description in Swagger UI, with requests to try."""
    return render(request, "docs/swagger.html")


def _file(content: bytes, media_type: str) -> HttpResponse:
    response = HttpResponse(content, content_type=media_type)
    # Generators and readers on other hosts may load it; it names no secret.
    response["Access-Control-Allow-Origin"] = "*"
    return response
