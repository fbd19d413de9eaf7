"""The pages of the docs, the models, and what finds them: a search, an index for it, lists for robots and agents."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from anex.docs import facts, library, models, search, site
from anex.docs.views.answers import answer, navigation


@require_safe
def page(request: HttpRequest, slug: str = "", as_markdown: bool = False) -> HttpResponse:
    """`/docs` and the pages below it; with `.md` behind their path as Markdown."""
    found = library.get(slug)
    if found is None:
        raise Http404
    return answer(request, found.fill(facts.gather()), as_markdown=as_markdown)


@require_safe
def model_index(request: HttpRequest, as_markdown: bool = False) -> HttpResponse:
    """`/models`."""
    return answer(request, models.index(models.listed()), as_markdown=as_markdown)


@require_safe
def model_page(request: HttpRequest, model_id: str) -> HttpResponse:
    """`/models/<id>`; with `.md` behind it as Markdown."""
    as_markdown = models.get(model_id) is None and model_id.endswith(".md")
    entry = models.get(model_id.removesuffix(".md") if as_markdown else model_id)
    if entry is None:
        raise Http404
    return answer(request, models.document(entry), as_markdown=as_markdown)


@require_safe
@cache_control(public=True, max_age=300)
def search_index(request: HttpRequest) -> HttpResponse:
    """`/docs/search.json`: every section of every page: `p` the path, `a` the anchor, `h` the heading, `t` the text."""
    response = JsonResponse(search.index(), safe=False, json_dumps_params={"ensure_ascii": False})
    response["Access-Control-Allow-Origin"] = "*"
    return response


@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """What the search box finds, for who has no JavaScript."""
    asked = request.GET.get("q", "")[:200]
    found = search.find(asked) if asked.strip() else []
    return render(request, "docs/search.html", {"asked": asked, "found": found, "navigation": navigation()})


@require_safe
def reference(request: HttpRequest) -> HttpResponse:
    """Where the reference was read before."""
    return redirect("docs_page", slug="api", permanent=True)


@require_safe
@cache_control(public=True, max_age=300)
def llms(request: HttpRequest) -> HttpResponse:
    """`/llms.txt`: what this is and where everything stands, for language models."""
    context = {
        "pages": library.pages(),
        "entries": models.listed(),
        "posts": site.posts(),
        "facts": facts.gather(),
        "url": settings.ANEX_PUBLIC_URL,
    }
    return HttpResponse(render_to_string("docs/llms.txt", context), content_type="text/plain; charset=utf-8")


@require_safe
@cache_control(public=True, max_age=300)
def sitemap(request: HttpRequest) -> HttpResponse:
    """`/sitemap.xml`."""
    paths = ["/", *(document.path for document in search.documents()), "/pricing", "/blog"]
    paths += [f"/{name}" for name in site.PAGES if site.page(name)[1]]
    paths += [post.document.path for post in site.posts()]
    context = {"addresses": [settings.ANEX_PUBLIC_URL + path for path in paths]}
    return HttpResponse(render_to_string("docs/sitemap.xml", context), content_type="application/xml")


@require_safe
@cache_control(public=True, max_age=300)
def robots(request: HttpRequest) -> HttpResponse:
    """`/robots.txt`: what is for everybody may be read by everybody."""
    text = render_to_string("docs/robots.txt", {"url": settings.ANEX_PUBLIC_URL})
    return HttpResponse(text, content_type="text/plain; charset=utf-8")
