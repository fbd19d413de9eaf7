"""Forms of the accounts pages."""

from django import forms

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
