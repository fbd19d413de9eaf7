"""What every page must hold in both themes and on a phone."""

from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
# Everything axe knows but its experiments; of the dark theme, whatever colours decide.
RULES: dict[Theme, Any] = {"light": {}, "dark": {"runOnly": ["color-contrast", "link-in-text-block"]}}
RUN = """async (rules) => {
  document.getAnimations().forEach((animation) => animation.finish());
  const found = await axe.run(document, {...rules, resultTypes: ["violations"]});
  const said = (node) => [...node.any, ...node.all, ...node.none].map((check) => check.message).join("; ");
  return found.violations.flatMap((rule) =>
    rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")}: ${said(node)}`));
}"""
WIDTHS = "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"


def assert_accessible(page: Page, *, themes: tuple[Theme, ...] = THEMES) -> None:
    """axe finds no violation in what the page shows now, in either theme; leaves the page in the light one."""
    found = [f"{theme}: {line}" for theme in themes for line in violations(page, theme)]
    page.emulate_media(color_scheme="light")
    assert not found, "\n".join([page.url, *found])


def violations(page: Page, theme: Theme) -> list[str]:
    """`rule: element: what is wrong` of each."""
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE_SCRIPT)
    found: Any = page.evaluate(RUN, RULES[theme])
    return list(found)


def assert_fits(page: Page) -> None:
    """Nobody has to scroll sideways at the width the page has now."""
    assert not misfit(page), page.url


def misfit(page: Page) -> list[str]:
    """Why somebody has to scroll sideways: nothing, or a sentence."""
    content, window = page.evaluate(WIDTHS)
    return [f"{content} px wide in a window of {window} px"] if content > window else []
