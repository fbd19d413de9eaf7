"""Model servers for staff: read-only, but for the switch. Reasons are kept in each server's history page."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from unfold.decorators import action, display

from anex.core.staff import ReadOnlyAdmin
from inference.backends import registry
from inference.models import Backend


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

    def _switch(
        self, request: HttpRequest, object_id: str, *, enabled: bool, title: str, explanation: str
    ) -> HttpResponse:
        return self.ask(
            request,
            object_id,
            title=title,
            explanation=explanation,
            change=lambda row, actor, reason: registry.switch(
                enabled=enabled,
                model_id=row.model_id,
                base_url=row.base_url,
                region=row.region,
                off_reason=reason,
                actor=actor,
            ),
        )
