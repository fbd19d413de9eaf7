"""Model servers for staff: read-only, but for the switches. Reasons are in the audit record, and told to clients."""

from collections.abc import Iterator

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminSelectWidget

from anex.core.actors import Actor
from anex.core.errors import AnexError
from anex.core.overview import Fact, on_first_page, shown
from anex.core.staff import ReadOnlyAdmin, ReasonForm, record
from inference.backends import registry
from inference.models import Backend

SECTION = "Work"


class ModelSwitchForm(ReasonForm):
    """Which model, on or off, and what clients are told."""

    model = forms.ChoiceField(choices=lambda: [(name, name) for name in _models()], widget=UnfoldAdminSelectWidget)
    state = forms.ChoiceField(choices=[("off", "Off"), ("on", "On")], widget=UnfoldAdminSelectWidget)
    field_order = ("model", "state", "reason")


def _models() -> list[str]:
    return sorted(set(Backend.objects.order_by().values_list("model_id", flat=True)))


@admin.register(Backend)
class BackendAdmin(ReadOnlyAdmin):
    """Servers that answer for models, configured or registered."""

    list_display = ("model_id", "region", "base_url", "state", "source", "concurrency", "version", "seen_at")
    list_filter = ("enabled", "source", "region")
    search_fields = ("model_id", "base_url")
    fields = (
        "model_id",
        "region",
        "base_url",
        "served_name",
        "credential_env",
        "concurrency",
        "reuse_connections",
        "source",
        "version",
        "enabled",
        "off_reason",
        "seen_at",
    )
    ordering = ("model_id", "region", "base_url")
    actions_list = ("switch_model",)
    actions_detail = ("switch_on", "switch_off")

    @display(description="State", label={"on": "success", "off": "danger"})  # type: ignore[untyped-decorator]
    def state(self, backend: Backend) -> str:
        """Whether an operator lets it take requests."""
        return "on" if backend.enabled else "off"

    @action(description="Switch on", url_path="on", permissions=["act"])  # type: ignore[untyped-decorator]
    def switch_on(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Let the server take requests again."""
        explanation = "Requests may be sent to this server from now on."
        return self._switch(request, object_id, enabled=True, title="Switch on", explanation=explanation)

    @action(description="Switch off", url_path="off", permissions=["act"])  # type: ignore[untyped-decorator]
    def switch_off(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send the server nothing more."""
        explanation = (
            "No new request is sent to this server; what it is answering now is awaited. "
            "Clients are told the reason where the model has no other server."
        )
        return self._switch(request, object_id, enabled=False, title="Switch off", explanation=explanation)

    @action(  # type: ignore[untyped-decorator]
        description="Switch a model", url_path="model", permissions=["act"]
    )
    def switch_model(self, request: HttpRequest) -> HttpResponse:
        """Take every server of a model out of use, or back into it."""
        form = ModelSwitchForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            given = form.cleaned_data
            enabled = given["state"] == "on"
            actor = Actor("staff", str(request.user.pk))
            try:
                with transaction.atomic():
                    found = registry.switch(
                        enabled=enabled, model_id=given["model"], off_reason=given["reason"], actor=actor
                    )
                    _record(enabled, given["model"], actor, given["reason"], servers=found)
            except AnexError as error:
                form.add_error(None, error.message)
            else:
                messages.success(request, f"{given['model']} is {given['state']}: {found} servers.")
                return redirect("admin:inference_backend_changelist")
        return self.form_page(
            request,
            form,
            title="Switch a model",
            explanation="All its servers in every region. While they are off, clients are answered 503 with the "
            "reason, and its jobs wait; what is being answered now is awaited.",
            back=reverse("admin:inference_backend_changelist"),
        )

    def _switch(
        self, request: HttpRequest, object_id: str, *, enabled: bool, title: str, explanation: str
    ) -> HttpResponse:
        def change(row: Backend, actor: Actor, reason: str) -> None:
            named = {"model_id": row.model_id, "base_url": row.base_url, "region": row.region}
            registry.switch(enabled=enabled, **named, off_reason=reason, actor=actor)
            _record(enabled, row.model_id, actor, reason, **named)

        return self.ask(request, object_id, title=title, explanation=explanation, change=change)


@on_first_page
def tell() -> Iterator[Fact]:
    """Servers that answer, those that were switched off, and those that were not heard of."""
    region = settings.ANEX_REGION
    rows = Backend.objects.filter(region=region)
    up = sum(registry.count_live(region).values())
    yield Fact("Model servers up", shown(up), "inference_backend", (("enabled__exact", "1"),), SECTION, up == 0)
    off = sorted(set(rows.filter(enabled=False).values_list("model_id", flat=True)))
    told = ", ".join(off) or "none"
    yield Fact("Switched off", told, "inference_backend", (("enabled__exact", "0"),), SECTION, bool(off))
    silent = registry.count_silent(region)
    yield Fact("Registered and not heard of", shown(silent), "inference_backend", (), SECTION)


def _record(enabled: bool, model: str, actor: Actor, reason: str, **details: object) -> None:
    record(
        actor=actor,
        action=f"backend.switch_{'on' if enabled else 'off'}",
        target=model,
        reason=reason,
        details=details,
    )
