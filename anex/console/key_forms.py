"""Forms of the key pages. What makes sense is `accounts.key_options` to judge; here only what a browser can send."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django import forms

from accounts.callers import SCOPES
from accounts.key_options import MAX_CEILING_CENTS, KeyOptions
from accounts.models import ApiKey
from accounts.services import names
from anex.core.errors import AnexError

_MAX_DOLLARS = Decimal(MAX_CEILING_CENTS) / 100
_CEILINGS = ("daily_ceiling", "weekly_ceiling", "monthly_ceiling")


def _dollars(label: str) -> forms.DecimalField:
    return forms.DecimalField(
        label=label,
        required=False,
        min_value=Decimal("0.01"),
        max_value=_MAX_DOLLARS,
        decimal_places=2,
        widget=forms.NumberInput(attrs={"step": "0.01"}),
        help_text="Empty: no ceiling.",
    )


class KeyForm(forms.Form):
    """A key's name and limits; the fields start with those of `key`, or with none."""

    name = forms.CharField(max_length=names.MAX_LENGTH, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in SCOPES],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one scope."},
    )
    models = forms.MultipleChoiceField(
        required=False,
        label="Only these models",
        widget=forms.CheckboxSelectMultiple,
        help_text="Tick none for every model.",
    )
    expires_on = forms.DateField(
        required=False, label="Last day", widget=forms.DateInput(attrs={"type": "date"}), help_text="Empty: no end."
    )
    daily_ceiling = _dollars("Dollars a day")
    weekly_ceiling = _dollars("Dollars a week")
    monthly_ceiling = _dollars("Dollars a month")

    def __init__(self, data: Any = None, *, models: list[str], key: ApiKey | None = None) -> None:
        super().__init__(data, initial=_initial(key) if key else {"scopes": list(SCOPES)})
        field = self.fields["models"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(model, model) for model in models]

    def options(self) -> KeyOptions:
        """The limits of a valid form. The last day ends at midnight UTC."""
        given = self.cleaned_data
        last: date | None = given["expires_on"]
        cents = {name: None if given[name] is None else int(given[name] * 100) for name in _CEILINGS}
        return KeyOptions(
            scopes=frozenset(given["scopes"]),
            models=frozenset(given["models"]) or None,
            expires_at=datetime.combine(last, time.min, UTC) + timedelta(days=1) if last else None,
            daily_ceiling_cents=cents["daily_ceiling"],
            weekly_ceiling_cents=cents["weekly_ceiling"],
            monthly_ceiling_cents=cents["monthly_ceiling"],
        )

    def refuse(self, error: AnexError) -> None:
        """Show a refusal of the service beside its field."""
        fields = {"expires_at": "expires_on"} | {f"{name}_cents": name for name in _CEILINGS}
        named = fields.get(error.param or "", error.param)
        self.add_error(named if named in self.fields else None, error.message)


class RevokeForm(forms.Form):
    """The key's name once more, so that no slip of the hand revokes one."""

    typed = forms.CharField(max_length=names.MAX_LENGTH, widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def __init__(self, data: Any = None, *, name: str) -> None:
        super().__init__(data)
        self._name = name
        self.fields["typed"].label = f"Type “{name}” to confirm"

    def clean_typed(self) -> str:
        """The name as it was typed; spaces around it do not matter."""
        typed: str = self.cleaned_data["typed"]
        if typed.strip() != self._name.strip():
            raise forms.ValidationError("That is not the name of this key. Nothing is revoked.")
        return typed


class RotateForm(forms.Form):
    """How long the former secret goes on working."""

    overlap = forms.ChoiceField(
        label="The former secret works for",
        choices=[
            ("0", "no longer: refuse it now"),
            ("1", "1 more hour"),
            ("24", "1 more day"),
            ("168", "7 more days"),
        ],
        initial="24",
    )


def _initial(key: ApiKey) -> dict[str, Any]:
    cents = {name: getattr(key, f"{name}_cents") for name in _CEILINGS}
    return {
        "name": key.name,
        "scopes": key.scopes,
        "models": key.allowed_models or [],
        "expires_on": key.expires_at and (key.expires_at - timedelta(seconds=1)).astimezone(UTC).date(),
    } | {name: None if amount is None else Decimal(amount) / 100 for name, amount in cents.items()}
