"""`/pricing`: what every model costs, and the calculator."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from anex.core.errors import AnexError
from anex.docs import calculator, markdown, models
from anex.docs.library import Document
from anex.docs.models import Entry
from anex.docs.views.answers import answer, navigation
from jobs.run.scope import MAX_ROWS
from jobs.services.submissions import MAX_OUTPUT_TOKENS


def _count(label: str, most: int) -> forms.IntegerField:
    return forms.IntegerField(required=False, min_value=0, max_value=most, initial=0, label=label)


class ShapeForm(forms.Form):
    """The shape of a job. A file's first rows are counted in place of the text."""

    model = forms.ChoiceField(label="Model")
    text = forms.CharField(
        required=False,
        max_length=calculator.MOST_CHARACTERS,
        label="A typical row",
        initial="Summarize in one sentence: The library closes at nine, but the reading room is open until midnight.",
        widget=forms.Textarea(attrs={"rows": 5}),
    )
    file = forms.FileField(
        required=False,
        label="Or your file",
        help_text=f"JSON Lines; its first {calculator.FIRST_ROWS} rows are counted.",
    )
    rows = forms.IntegerField(min_value=1, max_value=MAX_ROWS, initial=10_000, label="Rows")
    writes = forms.IntegerField(
        required=False, min_value=0, max_value=MAX_OUTPUT_TOKENS, initial=100, label="Tokens of a usual answer"
    )
    may_write = forms.IntegerField(
        required=False, min_value=1, max_value=MAX_OUTPUT_TOKENS, initial=200, label="Tokens of the longest answer"
    )
    questions = forms.IntegerField(
        required=False, min_value=1, max_value=64, initial=1, label="Questions of a row, for a decision model"
    )
    images = _count("Images of a row", 100)
    audio_seconds = _count("Seconds of audio of a row", 100_000)
    video_seconds = _count("Seconds of video of a row", 100_000)

    def __init__(self, *arguments: Any, entries: list[Entry], **options: Any) -> None:
        super().__init__(*arguments, **options)
        choices = [(entry.model.id, entry.model.id) for entry in entries]
        self.fields["model"] = forms.ChoiceField(label="Model", choices=choices)


@require_http_methods(["GET", "HEAD", "POST"])
def pricing(request: HttpRequest) -> HttpResponse:
    """The page; a posted shape comes back with its price, to htmx as the answer alone."""
    listed = models.listed()
    if request.method != "POST" and request.get_preferred_type(["text/html", "text/markdown"]) == "text/markdown":
        return answer(request, _document(listed), as_markdown=True)
    priced = [entry for entry in listed if entry.card and entry.model.countable]
    first = request.GET.get("model") if request.method != "POST" else None
    form = ShapeForm(request.POST or None, request.FILES or None, entries=priced, initial={"model": first})
    found = None
    if form.is_valid():
        entry = next(entry for entry in priced if entry.model.id == form.cleaned_data["model"])
        try:
            found = _answer(entry, form.cleaned_data)
        except AnexError as error:
            form.add_error(error.param if error.param in form.fields else None, error.message)
    context = {"form": form, "answer": found, "navigation": navigation(), "entries": listed} | _tables(listed)
    if request.method == "POST" and "HX-Request" in request.headers:
        # htmx shows what comes with a status of success alone.
        return render(request, "docs/price.html", context)
    return render(request, "docs/pricing.html", context, status=400 if form.errors else 200)


@require_safe
def as_markdown(request: HttpRequest) -> HttpResponse:
    """`/pricing.md`: the prices, without the calculator."""
    return answer(request, _document(models.listed()), as_markdown=True)


@require_safe
def calculator_page(request: HttpRequest) -> HttpResponse:
    """`/price-calculator`: it stands on the page of prices."""
    return redirect("pricing", permanent=True)


def _document(listed: list[Entry]) -> Document:
    about = "US dollars per million tokens; how a job is quoted and billed is under [pricing details](/docs/pricing)."
    tables = (models.price_table(listed), models.fee_table(listed), models.minimum_table(listed))
    return Document("/pricing", "Pricing", about, "\n\n".join(("# Pricing", about, *tables)) + "\n")


def _tables(listed: list[Entry]) -> dict[str, str]:
    made = {"prices": models.price_table, "fees": models.fee_table, "minimums": models.minimum_table}
    return {name: markdown.render(table(listed)).html for name, table in made.items()}


def _answer(entry: Entry, asked: dict[str, Any]) -> dict[str, Any]:
    model, card, file = entry.model, entry.card, asked["file"]
    assert card
    if file:
        counts = calculator.count_file(model, file.read(calculator.MOST_BYTES))
    else:
        media = calculator.Media(*(asked[name] or 0 for name in ("images", "audio_seconds", "video_seconds")))
        counts = calculator.count_text(model, asked["text"] or "", questions=asked["questions"] or 1, media=media)
    # What encodes or decides writes nothing.
    most = model.max_output_tokens or 0
    writes = min(asked["writes"] or 0, most)
    may_write = min(asked["may_write"] or 0, most)
    shape = calculator.shape(counts, rows=asked["rows"], writes=writes, may_write=may_write)
    tokens = sum(count.input_tokens for count in counts)
    return {
        "model": model.id,
        "rows": asked["rows"],
        "counted": len(counts),
        "tokens": tokens,
        "tokens_per_row": -(-tokens // len(counts)),
        "shape": shape,
        "prices": calculator.prices(card, shape),
        "realtime_nano": calculator.realtime_nano(card, shape),
        "minimum_cents": card.minimum_job_cents,
    }
