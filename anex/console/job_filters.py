"""What the list of jobs can be narrowed to: a status, a model, who submitted, whole days in UTC, how an id begins."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms

from accounts.selectors import keys, memberships
from anex.console import stepper
from inference import catalogue
from jobs.lifecycle import TERMINAL, Status
from jobs.selectors import batches
from jobs.selectors.pages import Filters

_MOVING = "moving"
_MOVING_STATUSES = [str(one) for one in Status if one not in TERMINAL]
_FIRST_DAY = date(2000, 1, 1)
# As many of the newest keys as somebody may look through; the others are found by an id of their jobs.
_KEYS = 100
_DIGITS = re.compile(r"[0-9a-f]{4,32}")


class JobFilterForm(forms.Form):
    """Every field may stay empty."""

    status = forms.ChoiceField(required=False, label="Status")
    model = forms.ChoiceField(required=False, label="Model")
    who = forms.ChoiceField(required=False, label="Submitted by")
    since = forms.DateField(required=False, label="From", widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}))
    id = forms.CharField(required=False, max_length=60, label="Job or batch id")

    def __init__(self, *args: Any, organization_id: UUID, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._offer("status", "Any", [(_MOVING, "Not over yet"), *((str(one), stepper.LABELS[one]) for one in Status)])
        self._offer("model", "Any", [(model.id, model.id) for model in catalogue.all_models()])
        self._offer("who", "Anybody", [*_people(organization_id), *_keys(organization_id)])

    def _offer(self, name: str, nothing: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", nothing), *choices]

    def clean_id(self) -> str:
        """The hexadecimal digits of an id, as far as it was written."""
        written: str = self.cleaned_data["id"].strip().lower()
        digits = written.removeprefix(batches.PREFIX).replace("-", "")
        if digits and not _DIGITS.fullmatch(digits):
            raise forms.ValidationError("An id is at least four of the digits 0 to 9 and a to f.")
        return digits

    def filters(self) -> Filters:
        """What a valid form asks for; one that makes no sense asks for everything."""
        asked = self.cleaned_data if self.is_valid() else {}
        status, until = asked.get("status"), asked.get("until")
        return Filters(
            statuses=_MOVING_STATUSES if status == _MOVING else [status] if status else None,
            model_id=asked.get("model") or None,
            created_by=asked.get("who") or None,
            created_after=_before(since) if (since := asked.get("since")) else None,
            created_before=_behind(until) if until else None,
            id_begins=asked.get("id") or None,
        )


def _before(day: date) -> datetime:
    """The last moment of the day before; times of a filter are exclusive."""
    return datetime.combine(max(day, _FIRST_DAY), time.min, UTC) - timedelta(microseconds=1)


def _behind(day: date) -> datetime:
    """The first moment of the next day; none behind the last day there is."""
    return datetime.combine(day, time.max, UTC)


def _people(organization_id: UUID) -> list[tuple[str, str]]:
    members = memberships.of_organization(organization_id)
    return [(f"user:{membership.user_id}", membership.user.email) for membership in members]


def _keys(organization_id: UUID) -> list[tuple[str, str]]:
    """The newest keys, those in use before those that were revoked."""
    pages = [keys.page(organization_id, revoked=revoked, size=_KEYS) for revoked in (False, True)]
    return [(f"key:{key.pk}", f"Key “{key.name}”") for page in pages for key in page.keys]
