"""Log lines without secrets: whatever looks like a key or a one-time link is masked, tracebacks included."""

import logging
import re

# An API key keeps its id, which names it; a link keeps the page it leads to.
_SECRETS = (
    (re.compile(r"\b(sk-[A-Za-z0-9]{12})[A-Za-z0-9]{40}\b"), r"\1…"),
    (re.compile(r"\b(whsec_)[A-Za-z0-9+/=_-]+"), r"\1…"),
    # What makes a link to a file one that works (S3: presigned URLs, and forms).
    (re.compile(r"(x-amz-(?:signature|security-token)(?:=|%3D))[^\s&\"']+", re.IGNORECASE), r"\1…"),
    (re.compile(r"(/invitations/)[^\s/\"'?]{20,}(?![^\s\"'?]*/)"), r"\1…"),
    (re.compile(r"(/accounts/(?:password/reset/key|confirm-email)/)[^\s/\"'?]+"), r"\1…"),
)


class RedactingFormatter(logging.Formatter):
    """The formatter of every handler (see settings)."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, masked."""
        return redact(super().format(record))


def redact(text: str) -> str:
    """The text with every secret masked."""
    for pattern, mask in _SECRETS:
        text = pattern.sub(mask, text)
    return text
