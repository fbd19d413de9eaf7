"""The error catalogue as Markdown: docs/errors.md, and what `/docs/errors` answers to who asks for Markdown.

`python -m anex.docs.error_page > docs/errors.md` writes the file anew.
"""

from collections.abc import Iterator
from typing import Final

from anex.core.error_catalogue import SECTIONS, Entry
from inference.refusals import SENTENCES

RETRY: Final = {
    "same": "yes: the identical request may do better, after `retry_after` seconds where they are given",
    "new_key": "yes, under another idempotency key",
    "no": "not before something has changed: the request, the balance, the key or the plan",
}
CHARGED: Final = {
    "false": "nothing",
    '"refunded"': "it ran, and nothing was kept",
    '"stands"': "it ran, and what was delivered is paid for: its reasoning, and the prompt that this reasoning read",
    "true": "it is paid for once, however often it is sent again",
}
HEAD: Final = """\
Clients of OpenAI read `{"error": {"message", "type", "code", "param", "retry", "charged", …}}` under `/v1` and
`/openai/v1`; the batch and the realtime API answer `{"detail": …}`. Every answer has an `x-request-id`: name it when
you ask about one."""
ABOUT_RETRY: Final = "`retry` says whether to send the same request again:"
HELD_BACK: Final = (
    "Clients that resend by themselves are held back by `x-should-retry: false` where the answer would stay the same."
)
ABOUT_CHARGED: Final = "`charged` says whether this request took anything:"
ROWS: Final = """\
Codes of lines that are refused: in an upload's error, in a job's `failure_errors` and in result lines. They are never
charged, and the same row is refused again. A single request with such a fault answers `invalid_request` on `/v1`."""


def markdown() -> str:
    """The whole page, as docs/errors.md has it."""
    return f"# Errors\n\n{body()}"


def body() -> str:
    """The page without its heading."""
    sections = "\n".join(f"## {title}\n\n{''.join(_table(entries))}" for title, entries in SECTIONS.items())
    rows = "".join(f"| `{code}` | {_cell(sentence)} |\n" for code, sentence in SENTENCES.items())
    words = [HEAD, ABOUT_RETRY, _words("retry", RETRY), HELD_BACK, ABOUT_CHARGED, _words("charged", CHARGED)]
    about_rows = f"## What can be wrong with a row\n\n{ROWS}\n\n| code | sentence |\n|---|---|\n"
    return "\n\n".join((*words, f"{sections}\n{about_rows}{rows}"))


def charge_word(entry: Entry) -> str:
    """`charged` as JSON has it."""
    return str(entry.charged).lower() if isinstance(entry.charged, bool) else f'"{entry.charged}"'


def _words(name: str, words: dict[str, str]) -> str:
    rows = "".join(f"\n| `{word}` | {meaning} |" for word, meaning in words.items())
    return f"| `{name}` | |\n|---|---|{rows}"


def _table(entries: tuple[Entry, ...]) -> Iterator[str]:
    yield "| code | status | `retry` | `charged` | |\n|---|---|---|---|---|\n"
    for entry in entries:
        yield f"| `{entry.code}` | {entry.status} | {entry.retry} | {charge_word(entry)} | {_cell(entry.meaning)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    print(markdown(), end="")
