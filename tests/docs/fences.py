"""The code blocks of a page."""

from markdown_it import MarkdownIt

_MARKDOWN = MarkdownIt("commonmark")


def fences(text: str) -> list[tuple[str, str]]:
    """Every code block: its language with what follows it, and its content."""
    return [(token.info, token.content) for token in _MARKDOWN.parse(text) if token.type == "fence"]
