"""The committed styles know every class that a template or module names, and no other styles are served."""

import re

from anex.settings.base import BASE_DIR

TEMPLATES = BASE_DIR / "templates"
BUILT = BASE_DIR / "static" / "console" / "console.css"
# The layout of the docs, their prose and their reader of the API, which only they load.
OF_DOCS = (BASE_DIR / "static" / "docs" / "docs.css", BASE_DIR / "static" / "docs" / "readers.css")
# Names that carry no style of their own: Tailwind's groups, and the staff area's templates have their own styles.
GROUP = re.compile(r"(group|peer)(/|$)")


def classes(html: str) -> set[str]:
    """Every class named as a whole word; words that a template variable is part of are left out."""
    values = re.findall(r'(?<![\w-])class="([^"]*)"', html)
    bare = (re.sub(r"\S*\{\{.*?\}\}\S*", " ", value) for value in values)
    return {name for value in bare for name in re.sub(r"\{%.*?%\}", " ", value).split()}


def selectors(css: str) -> set[str]:
    """Every class a selector names, its escapes undone."""
    found = re.findall(r"\.((?:[\w-]|\\.)+)", css)
    return {re.sub(r"\\(.)", r"\1", name) for name in found}


def test_every_class_of_a_template_is_in_the_built_styles():
    known = set().union(*(selectors(path.read_text()) for path in (BUILT, *OF_DOCS)))
    missing = {
        (str(path.relative_to(TEMPLATES)), name)
        for path in TEMPLATES.rglob("*.html")
        if path.relative_to(TEMPLATES).parts[0] != "admin"
        for name in classes(path.read_text())
        if name not in known and not GROUP.match(name)
    }
    assert missing == set(), "run `make styles`, or correct the name"


def test_both_themes_are_in_the_styles_and_nothing_is_fetched():
    css = BUILT.read_text()
    assert "prefers-color-scheme: dark" in css
    assert '[data-theme="dark"]' in css or "[data-theme=dark]" in css
    assert not re.search(r"url\((?!\"data:)|@import", css)
