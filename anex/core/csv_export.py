"""Tables as CSV files: streamed batch by batch, and harmless in a spreadsheet."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence

from django.http import StreamingHttpResponse

# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def response(
    name: str, header: Sequence[str], batches: AsyncIterator[Iterable[Sequence[object]]]
) -> StreamingHttpResponse:
    """The answer that downloads as `name`; memory holds one batch at a time."""
    return StreamingHttpResponse(
        _encoded(header, batches),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )


def cell(value: object) -> object:
    """The value as it goes into a cell: text that would be a formula gets an apostrophe in front."""
    if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA):
        return f"'{value}"
    return value


async def _encoded(header: Sequence[str], batches: AsyncIterator[Iterable[Sequence[object]]]) -> AsyncIterator[bytes]:
    yield _lines([header])
    async for batch in batches:
        yield _lines(batch)


def _lines(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([cell(value) for value in row] for row in rows)
    return text.getvalue().encode()
