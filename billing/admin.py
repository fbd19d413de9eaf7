"""Money for staff: everything can be read; a balance changes only through a service, with a reason."""

from collections.abc import Callable

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from unfold.decorators import action

from anex.core.actors import Actor
from anex.core.errors import AnexError
from anex.core.money import format_dollars
from anex.core.staff import ReadOnlyAdmin
from billing.forms import CreditsForm
from billing.models import Account, Hold, Transfer
from billing.services import corrections, grants


@admin.register(Account)
class AccountAdmin(ReadOnlyAdmin):
    """Balances, and the two ways staff may change one."""

    list_display = ("__str__", "balance", "held", "credit_limit")
    list_select_related = ("organization",)
    search_fields = ("organization__name", "organization__id", "code")
    fields = ("organization", "code", "balance", "held", "credit_limit")
    actions_list = ("grant_credits", "correct_balance")

    @admin.display(ordering="balance_nano")
    def balance(self, account: Account) -> str:
        """The cached balance; the platform's own accounts have none."""
        return "-" if account.code else format_dollars(account.balance_nano)

    @admin.display(ordering="held_nano")
    def held(self, account: Account) -> str:
        return "-" if account.code else format_dollars(account.held_nano)

    @admin.display(ordering="credit_limit_nano")
    def credit_limit(self, account: Account) -> str:
        return "-" if account.code else format_dollars(account.credit_limit_nano)

    @action(  # type: ignore[untyped-decorator]
        description="Grant credits", url_path="grant-credits", permissions=["grant_credits"]
    )
    def grant_credits(self, request: HttpRequest) -> HttpResponse:
        """Give an organization free credits."""
        return self._change_balance(
            request, grants.give, name="grant", title="Grant credits", explanation="Free credits, usable at once."
        )

    @action(  # type: ignore[untyped-decorator]
        description="Correct a balance", url_path="correct-balance", permissions=["grant_credits"]
    )
    def correct_balance(self, request: HttpRequest) -> HttpResponse:
        """Put an organization's balance right, in either direction."""
        return self._change_balance(
            request,
            corrections.adjust,
            name="correction",
            title="Correct a balance",
            explanation="A negative amount takes credits away, below zero if it must.",
        )

    def has_grant_credits_permission(self, request: HttpRequest) -> bool:
        """Who may use the two actions; a method, since a check by permission name would need the database to start."""
        return request.user.has_perm("billing.grant_credits")

    def _change_balance(
        self, request: HttpRequest, change: Callable[..., bool], *, name: str, title: str, explanation: str
    ) -> HttpResponse:
        """Show the form, or apply it once; a refusal of the service is shown above the form."""
        form = CreditsForm(request.POST if request.method == "POST" else None, initial=request.GET.dict())
        if form.is_valid():
            try:
                changed = change(
                    **form.order(),
                    source=f"{name}:{form.cleaned_data['nonce']}",
                    actor=Actor("staff", str(request.user.pk)),
                )
            except AnexError as error:
                form.add_error(None, error.message)
            else:
                if changed:
                    messages.success(request, f"{title}: done for {form.cleaned_data['organization']}.")
                else:
                    messages.warning(request, "This form was sent before; nothing was changed a second time.")
                return redirect("admin:billing_transfer_changelist")
        back = reverse("admin:billing_account_changelist")
        return self.form_page(request, form, title=title, explanation=explanation, back=back)


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    """The ledger, newest line first."""

    list_display = ("at", "kind", "amount", "debit", "credit", "actor", "reason", "source")
    list_filter = ("kind",)
    list_select_related = ("debit__organization", "credit__organization")
    search_fields = ("source", "actor", "debit__organization__name", "credit__organization__name")
    fields = ("at", "kind", "amount", "debit", "credit", "actor", "reason", "source")
    ordering = ("-id",)

    @admin.display(ordering="amount_nano")
    def amount(self, line: Transfer) -> str:
        return format_dollars(line.amount_nano)


@admin.register(Hold)
class HoldAdmin(ReadOnlyAdmin):
    """What is or was set aside, newest first."""

    list_display = ("placed_at", "account", "amount", "captured", "settled_at", "source")
    list_filter = (("settled_at", admin.EmptyFieldListFilter),)
    list_select_related = ("account__organization",)
    search_fields = ("source", "account__organization__name")
    fields = ("placed_at", "account", "amount", "captured", "settled_at", "actor", "source")
    ordering = ("-id",)

    @admin.display(ordering="amount_nano")
    def amount(self, hold: Hold) -> str:
        return format_dollars(hold.amount_nano)

    @admin.display(ordering="captured_nano")
    def captured(self, hold: Hold) -> str:
        return "-" if hold.captured_nano is None else format_dollars(hold.captured_nano)
