"""Reads of alerts."""

from collections.abc import Iterable

from accounts.alert_kinds import Kind
from accounts.models import Alert


def told(kind: Kind, subjects: Iterable[str]) -> set[tuple[str, str]]:
    """The crossings that were raised already, each as subject and crossing."""
    return set(Alert.objects.filter(kind=kind, subject__in=list(subjects)).values_list("subject", "crossing"))
