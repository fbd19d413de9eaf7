"""What every page of the staff area has in common: nothing is edited, a change is an action with a reason."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget

from anex.core.actors import Actor
from anex.core.errors import AnexError

Change = Callable[..., object]
# Writes a line of the audit record. Apps that know no customer reach it here: `accounts` gives it when it is loaded.
Recorder = Callable[..., object]
_recorders: list[Recorder] = []
# An id as clients write it: that of the database behind a word for what it names.
_CLIENTS_ID: Final = re.compile(r"(?:[a-z]+[-_])?([0-9a-f]{32})")


def record_with(recorder: Recorder) -> None:
    """Have what staff did recorded by this function."""
    _recorders.append(recorder)


def record(*, actor: Actor, action: str, target: str, reason: str, details: Mapping[str, object] | None = None) -> None:
    """Leave a line about what concerns no organization, in the caller's transaction."""
    for recorder in _recorders:
        recorder(actor=actor, action=action, target=target, reason=reason, details=details)


class ReasonForm(forms.Form):
    """Why staff changes something."""

    reason = forms.CharField(
        max_length=500, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}), help_text="Kept in the audit record."
    )


class ReadOnlyAdmin(ModelAdmin):  # type: ignore[misc]
    """Rows to look at. Actions declare `permissions=["act"]` and end in `ask`."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Nobody adds rows by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Nobody edits rows by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Nobody deletes rows by hand."""
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """What a term finds; an id as clients write it finds what the database's own would."""
        found = _CLIENTS_ID.fullmatch(search_term.strip())
        results: tuple[QuerySet[Any], bool] = super().get_search_results(
            request, queryset, str(UUID(found[1])) if found else search_term
        )
        return results

    def has_act_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Actions are for staff with Django's change permission on the model."""
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    def ask(
        self,
        request: HttpRequest,
        object_id: str,
        *,
        title: str,
        explanation: str,
        change: Change,
        form_class: type[ReasonForm] = ReasonForm,
        initial: Callable[..., dict[str, Any]] = lambda row: {},
    ) -> HttpResponse:
        """Ask for a reason, then call `change(row, actor, reason)`; a refusal of the service stands above the form.

        A `form_class` with further fields has them passed on by name; they begin with what `initial(row)` names. The
        row's own history page keeps the reason too.
        """
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404
        page = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
        form = form_class(request.POST if request.method == "POST" else None, initial=initial(row))
        if form.is_valid():
            try:
                with transaction.atomic():
                    further = {name: value for name, value in form.cleaned_data.items() if name != "reason"}
                    change(row, Actor("staff", str(request.user.pk)), form.cleaned_data["reason"], **further)
                    self.log_change(request, row, f"{title}: {form.cleaned_data['reason']}")
            except AnexError as error:
                form.add_error(None, error.message)
            else:
                messages.success(request, f"{title}: done.")
                return redirect(page, object_id)
        back = reverse(page, args=[object_id])
        return self.form_page(request, form, title=title, subject=row, explanation=explanation, back=back)

    def form_page(
        self, request: HttpRequest, form: forms.Form, *, title: str, explanation: str, back: str, subject: object = None
    ) -> HttpResponse:
        """The page of an action's form on `subject`; `back` is where a person who changes their mind goes."""
        context = self.admin_site.each_context(request) | {
            "title": title,
            "subject": subject,
            "explanation": explanation,
            "form": form,
            "opts": self.opts,
            "back": back,
        }
        return TemplateResponse(request, "admin/action_form.html", context)
