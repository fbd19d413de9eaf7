"""The form of a new job. What fits a model is the submission's to judge; here only what a browser can send."""

from typing import Any, Final

import orjson
from django import forms

from anex.console.offers import Offer
from inference.requests.options import RowOptions
from jobs.services.submissions import MAX_OUTPUT_TOKENS
from jobs.urgency import HIGHEST, LOWEST, USUAL_PRIORITY, USUAL_WINDOW, Urgency

_NO_FILE: Final = "Choose a file, name a URL, or take a sample."


class JobForm(forms.Form):
    """An uploaded input or a URL to copy one from, a model and the options a person may set."""

    input_id = forms.UUIDField(required=False, widget=forms.HiddenInput)
    source_url = forms.URLField(
        required=False,
        label="Or copy it from a URL",
        assume_scheme="https",
        max_length=8000,
        widget=forms.URLInput(attrs={"placeholder": "https://…", "autocomplete": "off"}),
        help_text="A file that anybody with its address can read, such as a signed link. It is copied once.",
    )
    model = forms.ChoiceField(widget=forms.RadioSelect)
    completion_window = forms.ChoiceField(
        choices=[(USUAL_WINDOW, "Within a day"), ("1h", "Within an hour, before what has a day")],
        initial=USUAL_WINDOW,
        required=False,
        label="Done",
        help_text="An hour costs more, on models that offer it. It is a turn, not an end: a job runs until it is done.",
    )
    priority = forms.IntegerField(
        initial=USUAL_PRIORITY,
        required=False,
        min_value=LOWEST,
        max_value=HIGHEST,
        label="Priority",
        help_text="0 to 9, free. Of your own jobs with as much time, the one with the higher number runs first.",
    )
    max_output_tokens = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_OUTPUT_TOKENS,
        label="Longest answer, in tokens",
        help_text="For every row; max_tokens in a row is not read. Empty: a sample of the rows is run to estimate it.",
    )
    temperature = forms.FloatField(
        required=False,
        min_value=0,
        max_value=2,
        label="Temperature",
        help_text="0 to 2. Empty means the model’s own.",
        widget=forms.NumberInput(attrs={"step": "0.1"}),
    )
    reasoning = forms.ChoiceField(
        required=False,
        choices=[("", "The model’s own"), ("on", "On"), ("off", "Off")],
        label="Thinking",
        help_text="Thinking is paid as output. A row may say otherwise.",
    )
    reasoning_effort = forms.ChoiceField(required=False, label="Effort", help_text="How deep it thinks.")
    reasoning_budget = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=MAX_OUTPUT_TOKENS,
        label="Thinking at most, in tokens",
        help_text="Empty: estimated. 0: no limit but that of the answer.",
    )
    dimensions = forms.IntegerField(
        required=False, min_value=1, label="Dimensions", help_text="How wide vectors are. Empty means the model’s own."
    )
    video_fps = forms.FloatField(
        required=False,
        label="Frames per second of video",
        help_text="Every frame is paid. Empty means the model’s own rate.",
        widget=forms.NumberInput(attrs={"step": "0.5"}),
    )
    response_format = forms.CharField(
        required=False,
        label="JSON schema of the answers",
        help_text="Every answer is kept to it. A row may bring its own.",
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, offers: list[Offer], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._offers = {offer.model.id: offer for offer in offers}
        self._choices("model").choices = [(model_id, model_id) for model_id in self._offers]
        levels = dict.fromkeys(level for offer in offers for level in offer.model.effort_levels)
        self._choices("reasoning_effort").choices = [("", "The model’s own"), *((level, level) for level in levels)]
        if offers:
            self.fields["model"].initial = offers[0].model.id

    def clean(self) -> dict[str, Any]:
        """One of the two ways to name a file."""
        data = super().clean() or {}
        if (
            not data.get("input_id")
            and not data.get("source_url")
            and not {"input_id", "source_url"} & set(self.errors)
        ):
            self.add_error("input_id", _NO_FILE)
        return data

    def clean_response_format(self) -> dict[str, Any] | None:
        """A schema, or a whole response_format, as the API takes it; None for nothing."""
        text = self.cleaned_data["response_format"].strip()
        try:
            return _as_format(orjson.loads(text)) if text else None
        except orjson.JSONDecodeError:
            raise forms.ValidationError("This is not valid JSON.") from None

    def row_options(self) -> RowOptions:
        """The options of a valid form that its model takes: what was typed before it was picked does not count."""
        taken = self._offers[self.cleaned_data["model"]].takes
        given = {name: self.cleaned_data[name] for name in taken if self.cleaned_data[name] not in (None, "")}
        if "reasoning" in given:
            given["reasoning"] = given["reasoning"] == "on"
        return RowOptions(**given)

    def urgency(self) -> Urgency:
        """How soon the job of a valid form is to run."""
        window, priority = self.cleaned_data["completion_window"], self.cleaned_data["priority"]
        return Urgency(window or USUAL_WINDOW, USUAL_PRIORITY if priority is None else priority)

    def refuse(self, param: str | None, message: str) -> None:
        """Show a refusal of a service beside its field."""
        named = (param or "").partition(".")[0]
        self.add_error(named if named in self.fields else None, message)

    def _choices(self, name: str) -> forms.ChoiceField:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        return field


def _as_format(value: Any) -> Any:
    """A schema as the API takes it; what already is a response_format stays."""
    if isinstance(value, dict) and value.get("type") in ("json_object", "json_schema", "text"):
        return value
    return {"type": "json_schema", "json_schema": {"schema": value}}
