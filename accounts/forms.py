"""Forms of the accounts pages."""

from typing import Any

from django import forms

from accounts.alert_kinds import LABELS, Kind
from accounts.permissions import MEMBER, ROLES
from accounts.services import names


class NameForm(forms.Form):
    """A name for a key or an organization; the rule itself is `services.names`."""

    name = forms.CharField(max_length=names.MAX_LENGTH, widget=forms.TextInput(attrs={"autocomplete": "off"}))


class RoleForm(forms.Form):
    """A role to give to a member."""

    role = forms.ChoiceField(choices=[(role, role.capitalize()) for role in ROLES])


class InvitationForm(RoleForm):
    """Whom to invite, and as what."""

    email = forms.EmailField(label="E-mail address", widget=forms.EmailInput(attrs={"autocomplete": "off"}))
    field_order = ("email", "role")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["role"].initial = MEMBER


class AuditForm(forms.Form):
    """Which events of the audit record to show."""

    actor = forms.ChoiceField(label="Who", required=False)
    action = forms.ChoiceField(label="What", required=False)
    since = forms.DateField(label="From", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: Any, choices: tuple[list[tuple[str, str]], list[str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        actors, actions = choices
        self._offer("actor", [("", "Everybody"), *actors])
        self._offer("action", [("", "Everything"), *((action, action) for action in actions)])

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices


class AlertsForm(forms.Form):
    """What a member is told about by e-mail."""

    wanted = forms.MultipleChoiceField(
        required=False,
        label="Tell me when",
        choices=[(str(kind), LABELS[kind]) for kind in Kind],
        widget=forms.CheckboxSelectMultiple,
    )
