"""Every page of the docs: as HTML and as Markdown, with links that lead somewhere, and found by the search."""

import json
import re
from collections import Counter
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from django.conf import settings
from django.test import Client

from anex.core.actors import system
from anex.docs import facts, library, models, reference, search
from anex.docs.library import Document
from inference.backends import registry
from tests.docs.fences import fences
from tests.factories import make_key, make_organization, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def anybody() -> Client:
    return Client()


def serve(model_id: str) -> None:
    registry.configure(
        model_id=model_id, base_url="http://127.0.0.1:9/v1", served_name=model_id, concurrency=1, actor=system("test")
    )


def test_every_page_answers_as_html_and_as_markdown(anybody: Client, django_assert_max_num_queries) -> None:
    for document in search.documents():
        with django_assert_max_num_queries(2):
            page = anybody.get(document.path)
        assert page.status_code == 200, document.path
        html = page.content.decode()
        assert html.count("<h1") == 1
        assert len(re.findall(r'aria-current="page"', html)) == (0 if document.path.startswith("/models/") else 1)
        repeated = [name for name, count in Counter(re.findall(r'\bid="([^"]+)"', html)).items() if count > 1]
        assert not repeated, document.path
        assert "{{" not in document.text
        for written in (
            anybody.get(f"{document.path}.md"),
            anybody.get(document.path, headers={"Accept": "text/markdown"}),
        ):
            assert written["Content-Type"] == "text/markdown; charset=utf-8"
            assert written.content.decode() == document.text
        assert "Accept" in page["Vary"]


def test_every_link_of_the_docs_leads_somewhere(anybody: Client) -> None:
    by_path = {document.path: document for document in search.documents()}
    broken = []
    for document in by_path.values():
        for address in re.findall(r'<a [^>]*href="([^"]+)"', document.rendered.html):
            parts = urlsplit(address)
            if parts.netloc:
                continue
            target = by_path.get(parts.path or document.path)
            if target is None and anybody.get(parts.path).status_code not in (200, 302):
                broken.append((document.path, address))
            if target and parts.fragment and f'id="{parts.fragment}"' not in target.rendered.html:
                broken.append((document.path, address))
    assert not broken


def test_every_link_around_the_pages_leads_somewhere(anybody: Client) -> None:
    addresses = set(re.findall(r'(?:href|data-index)="(/[^"#]*)"', anybody.get("/").content.decode()))
    addresses |= set(re.findall(r'href="(/[^"#]*)"', anybody.get("/pricing").content.decode()))
    for address in addresses:
        assert address.startswith("/static/") or anybody.get(address).status_code in (200, 302), address


def test_reference_names_every_call_and_every_field_of_the_description(anybody: Client) -> None:
    described = anybody.get("/openapi.json").json()
    written = "".join(document.text for document in search.documents())
    for path, item in described["paths"].items():
        for method, operation in item.items():
            assert f"### {method.upper()} {path}\n" in written
            assert f"`{operation['operationId']}`" in written
    assert "`completion_window`" in reference.markdown(("jobs",))


def test_search_index_has_a_section_for_every_heading_and_finds_it(anybody: Client) -> None:
    index = anybody.get("/docs/search.json").json()
    assert all(set(entry) == {"p", "a", "h", "t"} and entry["h"] for entry in index)
    assert len({(entry["p"], entry["a"]) for entry in index}) == len(index)
    assert {"/docs", "/docs/api", "/models/laya"} <= {entry["p"] for entry in index}
    best, *_ = search.find("chat templates")
    assert best["p"] == "/docs/chat-templates"
    found = anybody.get("/docs/search", {"q": "webhook-signature"}).content.decode()
    assert "/docs/webhooks#check-the-signature" in found
    assert "0 sections" in anybody.get("/docs/search", {"q": "zebra <b>"}).content.decode()


def test_lists_for_robots_and_agents_name_every_page(anybody: Client) -> None:
    llms = anybody.get("/llms.txt").content.decode()
    sitemap = ElementTree.fromstring(anybody.get("/sitemap.xml").content)
    listed = {place.text for place in sitemap.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")}
    for document in search.documents():
        assert settings.ANEX_PUBLIC_URL + document.path in listed
        assert document.path == "/models" or f"]({settings.ANEX_PUBLIC_URL}{document.path})" in llms
    assert f"Sitemap: {settings.ANEX_PUBLIC_URL}/sitemap.xml" in anybody.get("/robots.txt").content.decode()
    # What nobody has written is nothing to find.
    assert settings.ANEX_PUBLIC_URL + "/terms" not in listed


def test_pages_name_the_figures_that_the_references_give() -> None:
    (page,) = (page.fill(facts.gather()) for page in library.pages() if page.slug == "limits")
    for figure in ("1 GiB", "10,000,000", "24 hours", "32,768", "7 days", "30 days", "3,600 seconds", "256 KiB/s"):
        assert figure in page.text
    for row in (
        "| in flight, per organization | 8 |",
        "| jobs awaiting approval, per organization | 10 |",
        "| embedding inputs | 128; on `/openai/v1` 2,048 |",
        "| characters of an embedding input | 262,144, 2,097,152 in all |",
        "| images, audio clips, videos of a chat | 2, 1, 1 |",
    ):
        assert row in page.text


def test_model_page_tells_facts_prices_and_whether_it_is_offered(anybody: Client) -> None:
    unknown = anybody.get("/models/qwen3-14b.md").content.decode()
    assert "It is not on offer here now: no price is known." in unknown
    assert "| weights | not published |" in unknown
    priced = anybody.get("/models/qwen3.8-27b.md").content.decode()
    assert "| text | $0.18 | $0.045 | $0.90 |" in priced
    assert "| with media | $0.30 | $0.075 | $1.20 |" in priced
    assert "A job costs at least $0.12." in priced
    assert "| `qwen3.8-27b` | batch | $0.0001 | $0.0004 | $0.0003 | – |" in priced
    assert anybody.get("/models/no-such-model").status_code == 404
    assert anybody.get("/models/scripted").status_code == 404
    serve("scripted")
    assert "It is on offer here." in anybody.get("/models/scripted.md").content.decode()
    assert models.sample(models.listed(), "chat") == "scripted"


def test_samples_name_the_key_of_who_is_signed_in(anybody: Client) -> None:
    ada = make_user()
    key = make_key(make_organization(owner=ada))
    assert "sk-…" in anybody.get("/docs/quickstart").content.decode()
    anybody.force_login(ada)
    page = anybody.get("/docs/quickstart")
    assert f"sk-{key.caller.key_id}…" in page.content.decode()
    assert key.secret not in page.content.decode()
    assert "private" in page["Cache-Control"]


def test_landing_is_for_who_is_not_signed_in(anybody: Client) -> None:
    serve("scripted")
    page = anybody.get("/").content.decode()
    assert "/models/scripted" in page
    assert "10,000,000 rows" in page
    anybody.force_login(make_user())
    assert anybody.get("/")["Location"] == "/dashboard"


def test_every_block_of_json_is_json() -> None:
    for document in search.documents():
        for language, block in fences(document.text):
            lines = {"json": [block], "jsonl": block.splitlines()}.get(language.split(" ")[0], [])
            for line in lines:
                json.loads(line)


def test_html_of_a_page_is_shown_as_text() -> None:
    page = Document(
        "/x", "x", "", "# x\n\n<script>alert(1)</script>\n\n[a](javascript:alert(1)) `<b>`\n\n```sh\n<i>\n```\n"
    )
    assert "<script>" not in page.rendered.html
    assert 'href="javascript' not in page.rendered.html
    assert "&lt;i&gt;" in page.rendered.html
