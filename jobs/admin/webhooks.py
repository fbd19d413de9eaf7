"""Where organizations are told of their jobs, and what was told."""

from urllib.parse import urlsplit

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from unfold.decorators import action

from anex.core.staff import ReadOnlyAdmin
from jobs.admin.logs import LogInline
from jobs.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint
from jobs.services import interventions


class WebhookAttemptInline(LogInline):
    """The attempts of a delivery."""

    model = WebhookAttempt
    fields = ("number", "at", "duration_ms", "status", "error")
    readonly_fields = fields


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(ReadOnlyAdmin):
    """Where organizations are told of their jobs; secrets are theirs alone."""

    list_display = ("id", "organization", "host", "created_at", "failing_since", "disabled_reason", "deleted_at")
    list_filter = ("disabled_reason",)
    list_select_related = ("organization",)
    search_fields = ("id", "organization__name")
    exclude = ("url", "sealed_secret", "sealed_previous")
    readonly_fields = ("host",)
    ordering = ("-created_at",)

    @admin.display
    def host(self, endpoint: WebhookEndpoint) -> str:
        """Where it leads; the rest of an address may be a token of the receiver's."""
        return urlsplit(endpoint.url).netloc


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """Events on their way to endpoints, the latest due first."""

    list_display = ("id", "endpoint", "type", "job", "state", "attempts", "next_attempt_at")
    list_filter = ("state", "event__type")
    list_select_related = ("event", "endpoint")
    search_fields = ("id", "event__id", "event__job__id", "endpoint__id")
    ordering = ("-next_attempt_at",)
    inlines = (WebhookAttemptInline,)
    actions_detail = ("resend",)

    @action(description="Send again", url_path="resend", permissions=["act"])  # type: ignore[untyped-decorator]
    def resend(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Deliver the event once more."""
        return self.ask(
            request,
            object_id,
            title="Send again",
            explanation="The event is sent to its endpoint again, with the same webhook-id, and tried as often as a "
            "new one.",
            change=lambda row, actor, reason: interventions.resend(
                organization_id=row.endpoint.organization_id, delivery_id=row.pk, actor=actor, reason=reason
            ),
        )

    @admin.display(ordering="event__type")
    def type(self, delivery: WebhookDelivery) -> str:
        """What is told."""
        return delivery.event.type

    @admin.display
    def job(self, delivery: WebhookDelivery) -> str:
        """Of which job."""
        return str(delivery.event.job_id or "-")
