"""Forms of the webhook pages. What makes sense is the services' to judge; here only what a browser can send."""

from typing import Any

from django import forms

from anex.core.destinations import RefusedUrl, Unreachable
from anex.core.errors import AnexError
from jobs.selectors.webhooks import DeliveryFilter
from jobs.services.endpoints import MAX_DESCRIPTION, MAX_URL, Wishes
from jobs.webhooks import CHOICES, DeliveryState, EventType


class EndpointForm(forms.Form):
    """An endpoint's address, what it is told, and what people call it."""

    url = forms.CharField(
        label="Address",
        max_length=MAX_URL,
        widget=forms.URLInput(attrs={"autocomplete": "off"}),
        help_text="HTTPS on port 443 or 8443, reachable from the internet. Redirects are not followed.",
    )
    description = forms.CharField(
        required=False,
        max_length=MAX_DESCRIPTION,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="For people; optional.",
    )
    events = forms.MultipleChoiceField(
        required=False,
        label="Only these events",
        choices=[(str(event), str(event)) for event in CHOICES],
        widget=forms.CheckboxSelectMultiple,
        help_text="Tick none for every event.",
    )

    def wishes(self) -> Wishes:
        """What a valid form asks for."""
        return Wishes(**self.cleaned_data)

    def refuse(self, error: AnexError) -> None:
        """Show a refusal of the service beside its field."""
        field = "url" if isinstance(error, RefusedUrl | Unreachable) else error.param
        self.add_error(field if field in self.fields else None, error.message)


class DeliveryForm(forms.Form):
    """Which deliveries of an endpoint to show."""

    state = forms.ChoiceField(
        required=False,
        label="State",
        choices=[("", "Every state"), *((str(state), state.capitalize()) for state in DeliveryState)],
    )
    type = forms.ChoiceField(
        required=False, label="Event", choices=[("", "Every event"), *((str(e), str(e)) for e in EventType)]
    )
    job_id = forms.UUIDField(required=False, label="Job id", widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def wanted(self) -> DeliveryFilter:
        """The filter; one that makes no sense matches everything and says so in the form."""
        given: dict[str, Any] = self.cleaned_data if self.is_valid() else {}
        return DeliveryFilter(**given)
