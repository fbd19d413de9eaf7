"""The form of a new job. What fits a model is the submission's to judge; here only what is no number at all."""

from typing import Any

from django import forms

from anex.console.offers import Offer
from jobs.services.submissions import MAX_OUTPUT_TOKENS
from jobs.urgency import HIGHEST, LOWEST, USUAL_PRIORITY, USUAL_WINDOW, Urgency


class JobForm(forms.Form):
    """An uploaded input, a model and the options a person may set."""

    input_id = forms.UUIDField(
        widget=forms.HiddenInput, error_messages={"required": "Choose a file and wait until it is uploaded."}
    )
    model = forms.ChoiceField(widget=forms.RadioSelect)
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

    completion_window = forms.ChoiceField(
        choices=[("24h", "Within a day"), ("1h", "Within an hour, before what has a day")],
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
        help_text="0 to 9. Of your own jobs with as much time, the one with the higher number runs first.",
    )

    def __init__(self, *args: Any, offers: list[Offer], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        model = self.fields["model"]
        assert isinstance(model, forms.ChoiceField)
        model.choices = [(offer.model_id, offer.model_id) for offer in offers]
        if offers:
            model.initial = offers[0].model_id

    def urgency(self) -> Urgency:
        """How soon the job of a valid form is to run."""
        window, priority = self.cleaned_data["completion_window"], self.cleaned_data["priority"]
        return Urgency(window or USUAL_WINDOW, USUAL_PRIORITY if priority is None else priority)


class AutoApproveForm(forms.Form):
    """Whether jobs start without a person, and up to what; an empty ceiling is none."""

    enabled = forms.BooleanField(required=False, label="Approve quotes automatically")
    max_job = forms.DecimalField(
        required=False, min_value=0, max_digits=9, decimal_places=2, label="Only jobs of at most this many dollars"
    )
    max_day = forms.DecimalField(
        required=False,
        min_value=0,
        max_digits=9,
        decimal_places=2,
        label="And at most this many dollars a day",
        help_text="Quotes approved automatically since midnight UTC, added up. Empty means no ceiling.",
    )

    def terms(self) -> dict[str, Any]:
        """What the service needs of a valid form, in cents."""
        data = self.cleaned_data
        ceilings = {f"{name}_cents": data[name] for name in ("max_job", "max_day")}
        return {"enabled": data["enabled"]} | {
            name: None if dollars is None else int(dollars * 100) for name, dollars in ceilings.items()
        }
