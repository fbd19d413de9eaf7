"""What happened, for staff: e-mails and the audit record."""

from django.contrib import admin

from accounts.models import Alert, AuditEvent
from anex.core.staff import ReadOnlyAdmin


@admin.register(Alert)
class AlertAdmin(ReadOnlyAdmin):
    """E-mails about what happened, newest first; one without a time of sending waits, or was given up."""

    list_display = ("raised_at", "kind", "subject", "organization", "attempts", "sent_at")
    list_filter = ("kind", ("sent_at", admin.EmptyFieldListFilter))
    list_select_related = ("organization",)
    search_fields = ("subject", "organization__name")
    fields = ("raised_at", "kind", "subject", "crossing", "organization", "attempts", "next_attempt_at", "sent_at")
    ordering = ("-pk",)


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    """Who did what, newest first."""

    list_display = ("at", "action", "actor", "target", "organization", "reason")
    list_filter = ("actor_kind", "action")
    list_select_related = ("organization",)
    search_fields = ("actor_id", "target", "organization__name", "reason")
    fields = ("at", "action", "actor", "target", "organization", "reason", "details")
    ordering = ("-at", "-id")

    @admin.display(ordering="actor_id")
    def actor(self, event: AuditEvent) -> str:
        """Kind and id."""
        return f"{event.actor_kind}:{event.actor_id}"
