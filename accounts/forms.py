"""Forms of the accounts pages."""

from django import forms

from accounts.services import names


class NameForm(forms.Form):
    """A name for a key or an organization; the rule itself is `services.names`."""

    name = forms.CharField(max_length=names.MAX_LENGTH, widget=forms.TextInput(attrs={"autocomplete": "off"}))
