"""The page for who is not signed in, and what the operator writes: terms, privacy, support, the blog and its feed."""

from datetime import UTC, datetime, time

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import require_safe

from anex.docs import facts, models, site
from anex.docs.library import Document
from anex.docs.views.answers import answer


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    """`/`: what this is; the console for who is signed in."""
    if request.user.is_authenticated:
        return redirect("dashboard")
    offered = [entry for entry in models.listed() if entry.is_offered]
    return render(request, "docs/landing.html", {"offered": offered[:6], "limits": facts.limits()})


@require_safe
def page(request: HttpRequest, name: str, as_markdown: bool = False) -> HttpResponse:
    """`/terms`, `/privacy`, `/support`: the operator's words; until there are some, a page that says so."""
    document, is_written = site.page(name)
    response = answer(request, document, as_markdown=as_markdown)
    if not is_written:
        response["X-Robots-Tag"] = "noindex"
    return response


@require_safe
def blog(request: HttpRequest, as_markdown: bool = False) -> HttpResponse:
    """`/blog`: the posts, the newest first."""
    posts = site.posts()
    lines = [
        f"- {post.day:%-d %B %Y}: [{post.document.title}]({post.document.path}) {post.document.description}".rstrip()
        for post in posts
    ]
    about = "What the operator of this installation writes."
    text = "\n".join(lines) or "Nothing has been written yet."
    document = Document("/blog", "Blog", about, f"# Blog\n\n{about} [Feed](/blog/feed.xml)\n\n{text}\n")
    return answer(request, document, as_markdown=as_markdown)


@require_safe
def post(request: HttpRequest, slug: str, as_markdown: bool = False) -> HttpResponse:
    """`/blog/<slug>`."""
    found = site.post(slug)
    if found is None:
        raise Http404
    return answer(request, found.document, as_markdown=as_markdown)


@require_safe
def feed(request: HttpRequest) -> HttpResponse:
    """`/blog/feed.xml`, Atom."""
    url = settings.ANEX_PUBLIC_URL
    made = Atom1Feed("Blog", f"{url}/blog", "Posts of this installation's operator", feed_url=f"{url}/blog/feed.xml")
    for entry in site.posts():
        moment = datetime.combine(entry.day, time(), UTC)
        document = entry.document
        about, link = document.description or document.title, url + document.path
        made.add_item(document.title, link, about, pubdate=moment, updateddate=moment)
    return HttpResponse(made.writeString("utf-8"), content_type="application/atom+xml; charset=utf-8")
