"""The form of auto-approval."""

from typing import Any

from django import forms


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
