"""What an operator writes is shown; what nobody wrote is said to be missing."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def folder(settings, tmp_path: Path) -> Path:
    settings.ANEX_SITE_DIR = tmp_path
    for name, text in {
        "terms.md": "# Our terms\n\nPay for what you use.\n\n<script>alert(1)</script>\n",
        "locations.md": "Two halls in Lyon.",
        "models/laya.md": "| benchmark | score |\n|---|---|\n| of its publisher | 71 |\n",
        "blog/first.md": "---\ntitle: First words\ndescription: Why.\ndate: 2026-01-02\n---\nHello.\n",
        "blog/second.md": "---\ntitle: Second\ndate: 2026-02-03\n---\n# Second\n\nAgain.\n",
        "blog/draft.md": "---\ntitle: Not yet\n---\nLater.\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def read(path: str) -> str:
    answer = Client().get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


def test_operators_words_are_shown_where_they_belong(folder: Path) -> None:
    terms = read("/terms")
    assert "Pay for what you use." in terms
    assert "<script>alert" not in terms
    assert "Two halls in Lyon." in read("/docs/residency.md")
    assert "| of its publisher | 71 |" in read("/models/laya.md")
    assert "/terms" in read("/sitemap.xml")


def test_what_nobody_wrote_is_said_to_be_missing(settings) -> None:
    settings.ANEX_SITE_DIR = None
    for name in ("terms", "privacy", "support"):
        answer = Client().get(f"/{name}")
        assert "has not written this page yet" in answer.content.decode()
        assert answer["X-Robots-Tag"] == "noindex"
    assert "Nothing has been written yet." in read("/blog.md")
    assert "has added nothing here" in read("/models/laya.md")


def test_blog_lists_posts_with_a_date_newest_first(folder: Path) -> None:
    blog = read("/blog.md")
    assert blog.index("Second") < blog.index("First words")
    assert "Not yet" not in blog
    assert "Hello." in read("/blog/first")
    assert read("/blog/second.md").count("# Second") == 1
    feed = ElementTree.fromstring(read("/blog/feed.xml"))
    assert [entry.findtext(f"{ATOM}title") for entry in feed.iter(f"{ATOM}entry")] == ["Second", "First words"]
    for name in ("draft", "third"):
        assert Client().get(f"/blog/{name}").status_code == 404
    assert Client().get("/blog/..%2fterms").status_code == 404


@pytest.mark.parametrize(
    "written", [b"---\ndate: soon\n---\n", b"---\n: [\n---\n", b"---\nauthor: x\n---\n", b"\xe9t\xe9"]
)
def test_a_file_that_cannot_be_read_is_missing_and_takes_nothing_along(folder: Path, written: bytes, caplog) -> None:
    for name in ("blog/third.md", "privacy.md", "models/laya.md"):
        (folder / name).write_bytes(written)
    assert "First words" in read("/blog")
    assert "has not written this page yet" in read("/privacy")
    for path in ("/blog/feed.xml", "/sitemap.xml", "/llms.txt", "/models/laya"):
        read(path)
    assert Client().get("/blog/third").status_code == 404
    assert "the site's file blog/third.md cannot be read" in caplog.text


def test_what_an_operator_links_to_runs_nothing(folder: Path) -> None:
    links = ("javascript:alert(1)", "JaVaScRiPt:alert(1)", "java&#x73;cript:alert(1)", "vbscript:x", "data:text/html,x")
    (folder / "terms.md").write_text("".join(f"[a]({link}) ![b]({link}) <{link}>\n\n" for link in links))
    html = read("/terms").lower()
    assert not [
        word for word in ("script:alert", "vbscript:", "data:text") if f'="{word}' in html or f'="java{word}' in html
    ]
