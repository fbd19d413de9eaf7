"""The switch of each API for staff."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from unfold.decorators import action, display

from accounts.models import Freeze
from accounts.services import freezes
from anex.core.staff import ReadOnlyAdmin


@admin.register(Freeze)
class FreezeAdmin(ReadOnlyAdmin):
    """The switch of each API."""

    list_display = ("surface", "state", "frozen_at")
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
            explanation="Its calls are answered with 503 from the next second on, but for an input's status and "
            "results. Jobs go on running.",
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
