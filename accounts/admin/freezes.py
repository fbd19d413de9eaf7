"""The switch of each API, and the console's notices, for staff."""

from typing import Final

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminTextareaWidget

from accounts.models import Freeze, Notice
from accounts.services import freezes, notices
from anex.core.actors import Actor
from anex.core.errors import AnexError
from anex.core.staff import ReadOnlyAdmin, ReasonForm


class NoticeForm(ReasonForm):
    """What people are told, and why."""

    text = forms.CharField(max_length=500, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}))
    field_order = ("text", "reason")


# What is refused while a surface is frozen (docs/upgrade.md has all of it).
_REFUSED: Final = {
    "batch": "The batch API, files and batches of /v1 and whatever changes jobs in the console are refused, but for an "
    "input's status and results,",
    "realtime": "Requests to models and the playground are refused, lists of models are not,",
    "uploads": "Whatever takes a file or a URL in is refused, on every surface,",
    "console": "What changes something on the console's pages is refused, but for signing in and one's own account,",
}


@admin.register(Freeze)
class FreezeAdmin(ReadOnlyAdmin):
    """The switch of each API."""

    list_display = ("surface", "state", "frozen_at", "reason")
    actions_detail = ("freeze", "open_again")

    @display(description="State", label={"frozen": "danger", "open": "success"})  # type: ignore[untyped-decorator]
    def state(self, freeze: Freeze) -> str:
        """Whether its calls are answered."""
        return "frozen" if freeze.frozen_at else "open"

    @action(description="Freeze", url_path="freeze", permissions=["act"])  # type: ignore[untyped-decorator]
    def freeze(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Refuse its calls."""
        return self.ask(
            request,
            object_id,
            title="Freeze",
            explanation=f"{_REFUSED.get(object_id, 'Its calls')} from the next second on, in both regions: 503 with "
            "the reason, which clients and people in the console are told. Jobs go on running.",
            change=lambda row, actor, reason: freezes.switch(surface=row.pk, frozen=True, actor=actor, reason=reason),
        )

    @action(description="Open again", url_path="open", permissions=["act"])  # type: ignore[untyped-decorator]
    def open_again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Answer its calls."""
        return self.ask(
            request,
            object_id,
            title="Open again",
            explanation="Its calls are answered again from the next second on.",
            change=lambda row, actor, reason: freezes.switch(surface=row.pk, frozen=False, actor=actor, reason=reason),
        )


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    """What the console's pages tell people."""

    list_display = ("text", "shown_at", "ended_at")
    ordering = ("-pk",)
    actions_list = ("show_notice",)
    actions_detail = ("take_down",)

    @action(description="Show a notice", url_path="show", permissions=["act"])  # type: ignore[untyped-decorator]
    def show_notice(self, request: HttpRequest) -> HttpResponse:
        """Tell people something on every page."""
        form = NoticeForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            try:
                notices.show(actor=Actor("staff", str(request.user.pk)), **form.cleaned_data)
            except AnexError as error:
                form.add_error(None, error.message)
            else:
                messages.success(request, "The notice is shown.")
                return redirect("admin:accounts_notice_changelist")
        return self.form_page(
            request,
            form,
            title="Show a notice",
            explanation="Every page of the console shows it until it is taken down. Nothing else changes.",
            back=reverse("admin:accounts_notice_changelist"),
        )

    @action(description="Take down", url_path="end", permissions=["act"])  # type: ignore[untyped-decorator]
    def take_down(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show it no longer."""
        return self.ask(
            request,
            object_id,
            title="Take down",
            explanation="The console shows it no longer.",
            change=lambda row, actor, reason: notices.end(notice_id=row.pk, actor=actor, reason=reason),
        )
