"""Forms of the staff area and of the credits page."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from unfold.widgets import (
    UnfoldAdminDateWidget,
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminTextareaWidget,
)

from accounts.models import Organization
from billing import ledger
from billing.models import Account, AutoTopup


class OrganizationSearch(AutocompleteSelect):
    """Finds one by what is typed. What stands in it before that is also its name for who hears the page."""

    class Media:
        js = ("staff/search.js",)

    def build_attrs(self, *given: Any, **further: Any) -> dict[str, Any]:
        """With the words that stand in it while none is chosen."""
        attributes: dict[str, Any] = super().build_attrs(*given, **further)
        return attributes | {"data-placeholder": "Search for an organization"}

    def optgroups(self, name: str, value: Sequence[Any], attr: dict[str, Any] | None = None) -> Any:
        """What is chosen; what is no id of any organization is not looked for."""
        return super().optgroups(name, [one for one in value if _is_id(one)], attr)


def _is_id(value: object) -> bool:
    try:
        UUID(str(value))
    except ValueError:
        return False
    return True


class CreditsForm(forms.Form):
    """Whose balance, by how many dollars, and why. The hidden nonce makes a form sent twice count once."""

    organization = forms.ModelChoiceField(
        Organization.objects.all(),
        widget=OrganizationSearch(Account._meta.get_field("organization"), admin.site),
        help_text="Type a name, an id or a member’s address.",
    )
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


class GrantForm(CreditsForm):
    """Free credits, which may have a last day."""

    last_day = forms.DateField(
        required=False,
        widget=UnfoldAdminDateWidget,
        help_text="In UTC. What is unspent after it is taken back; empty means the credits stay.",
    )
    field_order = ("organization", "dollars", "last_day", "reason", "nonce")

    def clean_last_day(self) -> datetime | None:
        """The moment the last day is over."""
        day = self.cleaned_data["last_day"]
        return datetime.combine(day, time(), UTC) + timedelta(days=1) if day else None

    def order(self) -> dict[str, Any]:
        """As the other forms, and when the grant ends."""
        return super().order() | {"expires_at": self.cleaned_data["last_day"]}


class CreditLimitForm(CreditsForm):
    """How far below zero an organization may spend; 0 for prepaid."""

    dollars = forms.DecimalField(
        min_value=0,
        max_digits=12,
        decimal_places=2,
        label="Credit limit in dollars",
        widget=UnfoldAdminDecimalFieldWidget,
    )


class RefundForm(forms.Form):
    """How much of one charge is given back, and why."""

    dollars = forms.DecimalField(max_digits=12, decimal_places=2, widget=UnfoldAdminDecimalFieldWidget)
    reason = forms.CharField(
        max_length=500,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Kept in the ledger for good, and shown to the organization.",
    )
    nonce = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)


class LedgerForm(forms.Form):
    """Which lines of the ledger to show; what makes no sense filters nothing."""

    kind = forms.ChoiceField(required=False, choices=[("", "Everything"), *ledger.KINDS.items()], label="Kind")
    start = forms.DateField(required=False, label="From", widget=forms.DateInput(attrs={"type": "date"}))
    end = forms.DateField(required=False, label="To, included", widget=forms.DateInput(attrs={"type": "date"}))
    q = forms.CharField(
        required=False,
        max_length=120,
        label="Id, or words",
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )

    def wanted(self) -> ledger.Filter:
        """The filter of what could be read."""
        self.full_clean()
        data = self.cleaned_data
        return ledger.days(data.get("start"), data.get("end"), data.get("kind") or "", data.get("q") or "")


def _cents(dollars: Decimal | None) -> int:
    return int((dollars or 0) * 100)


class TopupForm(forms.Form):
    """How much to pay. The hidden id makes a form sent twice one payment."""

    topup_id = forms.UUIDField(widget=forms.HiddenInput)
    dollars = forms.DecimalField(max_digits=8, decimal_places=2, label="Amount in US dollars", initial=Decimal(20))
    save_method = forms.BooleanField(required=False, label="Save this payment method for automatic top-ups")

    def clean_dollars(self) -> int:
        """The amount in whole cents."""
        return _cents(self.cleaned_data["dollars"])


class BalanceAlertForm(forms.Form):
    """Below what to be told that the balance is low."""

    threshold = forms.DecimalField(
        required=False,
        min_value=Decimal("0.01"),
        max_digits=9,
        decimal_places=2,
        label="Tell owners and admins by e-mail when less than this many dollars is available",
        help_text="Once each time it falls below. Empty means never.",
        widget=forms.NumberInput(attrs={"step": "0.01"}),
    )

    def clean_threshold(self) -> int | None:
        """The amount in whole cents."""
        dollars = self.cleaned_data["threshold"]
        return None if dollars is None else _cents(dollars)


class AutoTopupForm(forms.Form):
    """When to charge the saved payment method."""

    enabled = forms.BooleanField(required=False, label="Top up automatically")
    threshold = forms.DecimalField(
        required=False, max_digits=8, decimal_places=2, label="When less than this is available"
    )
    dollars = forms.DecimalField(required=False, max_digits=8, decimal_places=2, label="Add this much")
    monthly_cap = forms.DecimalField(
        required=False,
        max_digits=9,
        decimal_places=2,
        label="But in a month at most",
        help_text="A calendar month in UTC.",
    )

    def __init__(self, data: Any = None, **options: Any) -> None:
        # It stands beside the form of a single payment.
        super().__init__(data, auto_id="id_auto_%s", **options)

    @classmethod
    def of(cls, row: AutoTopup | None) -> "AutoTopupForm":
        """The form as the organization set it last."""
        if row is None:
            return cls()
        amounts = {"threshold": row.threshold_cents, "dollars": row.cents, "monthly_cap": row.monthly_cap_cents}
        filled = {name: Decimal(cents) / 100 for name, cents in amounts.items() if cents}
        return cls(initial={"enabled": row.enabled, **filled})

    def terms(self) -> dict[str, Any]:
        """What the service needs of a valid form, in cents."""
        data = self.cleaned_data
        return {
            "enabled": data["enabled"],
            "threshold_cents": _cents(data["threshold"]),
            "cents": _cents(data["dollars"]),
            "monthly_cap_cents": _cents(data["monthly_cap"]),
        }
