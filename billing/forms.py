"""Forms of the staff area."""

from typing import Any
from uuid import uuid4

from django import forms
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
)

from accounts.models import Organization


class CreditsForm(forms.Form):
    """Whose balance, by how many dollars, and why. The hidden nonce makes a form sent twice count once."""

    organization = forms.ModelChoiceField(Organization.objects.order_by("name"), widget=UnfoldAdminSelectWidget)
    dollars = forms.DecimalField(max_digits=12, decimal_places=2, widget=UnfoldAdminDecimalFieldWidget)
    reason = forms.CharField(
        max_length=500,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Kept in the ledger for good, and shown to the organization.",
    )
    nonce = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    def clean_dollars(self) -> int:
        """The amount in whole cents."""
        return int(self.cleaned_data["dollars"] * 100)

    def order(self) -> dict[str, Any]:
        """What a service needs of a valid form, without the actor and the source."""
        data = self.cleaned_data
        return {"organization_id": data["organization"].pk, "cents": data["dollars"], "reason": data["reason"]}
