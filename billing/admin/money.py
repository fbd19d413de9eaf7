"""Balances, the ledger, holds, payments and grants."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from unfold.decorators import action

from anex.core.actors import Actor
from anex.core.errors import AnexError
from anex.core.money import cents_to_nano, format_dollars
from anex.core.staff import ReadOnlyAdmin
from billing.admin import prices
from billing.forms import CreditLimitForm, CreditsForm, GrantForm, RefundForm
from billing.models import Account, Grant, Hold, Topup, Transfer
from billing.services import corrections, credit_limits, grants, payments, refunds, topups


@admin.register(Account)
class AccountAdmin(ReadOnlyAdmin):
    """Balances, and the ways staff may change one."""

    list_display = ("__str__", "balance", "held", "credit_limit")
    list_select_related = ("organization",)
    search_fields = ("organization__name", "organization__id", "code")
    fields = ("organization", "code", "balance", "held", "credit_limit")
    actions_list = ("grant_credits", "correct_balance", "record_payment", "set_credit_limit")

    def get_urls(self) -> list[URLPattern]:
        """With the page of prices, which has no table."""
        prices_page = self.admin_site.admin_view(partial(prices.page, self.admin_site))
        return [path("prices/", prices_page, name="billing_pricecard_changelist"), *super().get_urls()]

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
            request,
            grants.give,
            form_class=GrantForm,
            name="grant",
            title="Grant credits",
            explanation="Free credits, usable at once.",
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

    @action(  # type: ignore[untyped-decorator]
        description="Record a payment", url_path="record-payment", permissions=["grant_credits"]
    )
    def record_payment(self, request: HttpRequest) -> HttpResponse:
        """Add money that came outside the payment page."""
        return self._change_balance(
            request,
            payments.record,
            name="payment",
            title="Record a payment",
            explanation="Money that was received by bank transfer or for an invoice. Name it in the reason.",
        )

    @action(  # type: ignore[untyped-decorator]
        description="Set a credit limit", url_path="credit-limit", permissions=["grant_credits"]
    )
    def set_credit_limit(self, request: HttpRequest) -> HttpResponse:
        """Bill an organization by monthly invoice, up to a limit."""

        def change(*, source: str, **order: Any) -> bool:
            credit_limits.set_limit(**order)
            return True

        return self._change_balance(
            request,
            change,
            form_class=CreditLimitForm,
            name="limit",
            title="Set a credit limit",
            explanation="How far below zero the organization may spend, billed by monthly invoice; 0 is prepaid.",
        )

    def has_grant_credits_permission(self, request: HttpRequest) -> bool:
        """Who may use the two actions; a method, since a check by permission name would need the database to start."""
        return request.user.has_perm("billing.grant_credits")

    def _change_balance(
        self,
        request: HttpRequest,
        change: Callable[..., bool],
        *,
        name: str,
        title: str,
        explanation: str,
        form_class: type[CreditsForm] = CreditsForm,
    ) -> HttpResponse:
        """Show the form, or apply it once; a refusal of the service is shown above the form."""
        form = form_class(request.POST if request.method == "POST" else None, initial=request.GET.dict())
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


class AccountFilter(admin.SimpleListFilter):
    """Lines of one account, on either side; chosen by a link."""

    title = "account"
    parameter_name = "account"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """The chosen one, if any: nobody wants a list of all."""
        return [(self.value() or "", "the chosen one")] if self.value() else []

    def has_output(self) -> bool:
        """Applied even where nothing is listed to choose from."""
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Transfer]) -> QuerySet[Transfer]:
        """Its lines."""
        chosen = self.value()
        if not chosen:
            return queryset
        account = int(chosen) if chosen.isdecimal() else 0
        return queryset.filter(Q(debit_id=account) | Q(credit_id=account))


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    """The ledger, newest line first."""

    list_display = ("at", "kind", "amount", "debit", "credit", "actor", "reason", "source")
    list_filter = ("kind", AccountFilter)
    list_select_related = ("debit__organization", "credit__organization")
    search_fields = ("source", "actor", "debit__organization__name", "credit__organization__name")
    fields = ("at", "kind", "amount", "debit", "credit", "actor", "reason", "source", "about")
    ordering = ("-id",)
    actions_detail = ("give_back",)

    @admin.display(ordering="amount_nano")
    def amount(self, line: Transfer) -> str:
        return format_dollars(line.amount_nano)

    @action(  # type: ignore[untyped-decorator]
        description="Give a charge back", url_path="give-back", permissions=["grant_credits"]
    )
    def give_back(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Return a charge, or a part of it, as credits."""
        line = self.get_object(request, object_id)
        if line is None or line.kind != Transfer.Kind.CHARGE:
            messages.error(request, "Only a charge can be given back.")
            return redirect("admin:billing_transfer_changelist")
        form = RefundForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            try:
                refunds.give_back(
                    organization_id=line.debit.organization_id,
                    charge_id=line.pk,
                    cents=int(form.cleaned_data["dollars"] * 100),
                    reason=form.cleaned_data["reason"],
                    source=f"refund:{form.cleaned_data['nonce']}",
                    actor=Actor("staff", str(request.user.pk)),
                )
            except AnexError as error:
                form.add_error(None, error.message)
            else:
                messages.success(request, "The charge is given back.")
                return redirect("admin:billing_transfer_changelist")
        return self.form_page(
            request,
            form,
            title="Give a charge back",
            subject=line,
            explanation=f"{format_dollars(line.amount_nano)} were charged. The refund is a line of its own.",
            back=reverse("admin:billing_transfer_changelist"),
        )

    def has_grant_credits_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Who may change balances."""
        return request.user.has_perm("billing.grant_credits")


@admin.register(Grant)
class GrantAdmin(ReadOnlyAdmin):
    """Grants with an end, the soonest to expire first."""

    list_display = ("account", "amount", "given_at", "expires_at", "expired_at", "taken_back", "source")
    list_filter = (("expired_at", admin.EmptyFieldListFilter),)
    list_select_related = ("account__organization",)
    search_fields = ("source", "account__organization__name")
    fields = ("account", "amount", "given_at", "expires_at", "expired_at", "taken_back", "source")
    ordering = ("expires_at",)

    @admin.display(ordering="amount_nano")
    def amount(self, grant: Grant) -> str:
        return format_dollars(grant.amount_nano)

    @admin.display(ordering="expired_nano")
    def taken_back(self, grant: Grant) -> str:
        return "-" if grant.expired_nano is None else format_dollars(grant.expired_nano)


@admin.register(Topup)
class TopupAdmin(ReadOnlyAdmin):
    """Payments, newest first, and the way to send one back."""

    list_display = ("created_at", "organization", "amount", "state", "gateway", "automatic", "payment_ref")
    list_filter = ("state", "gateway", "automatic")
    list_select_related = ("organization",)
    search_fields = ("id", "payment_ref", "checkout_ref", "organization__name")
    fields = (
        *("id", "organization", "amount", "state", "failure", "gateway", "automatic", "checkout_ref", "payment_ref"),
        *("created_by", "created_at", "paid_at"),
    )
    ordering = ("-created_at",)
    actions_detail = ("refund",)

    @admin.display(ordering="cents")
    def amount(self, topup: Topup) -> str:
        return format_dollars(cents_to_nano(topup.cents))

    @action(  # type: ignore[untyped-decorator]
        description="Refund", url_path="refund", permissions=["grant_credits"]
    )
    def refund(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send a payment back, or a part of it; the credits go with it."""
        topup = self.get_object(request, object_id)
        if topup is None:
            raise Http404
        form = RefundForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            try:
                topups.refund(
                    topup_id=topup.pk,
                    cents=int(form.cleaned_data["dollars"] * 100),
                    reason=form.cleaned_data["reason"],
                    key=form.cleaned_data["nonce"],
                    actor=Actor("staff", str(request.user.pk)),
                )
            except AnexError as error:
                form.add_error(None, error.message)
            else:
                messages.success(request, "The refund is on its way, and the credits are taken back.")
                return redirect("admin:billing_topup_change", object_id)
        return self.form_page(
            request,
            form,
            title="Refund a payment",
            explanation=f"{format_dollars(cents_to_nano(topup.cents))} paid by {topup.organization}.",
            back=reverse("admin:billing_topup_change", args=[object_id]),
        )

    def has_grant_credits_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Who may change balances."""
        return request.user.has_perm("billing.grant_credits")


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
