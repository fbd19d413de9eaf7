"""Reads of invitations."""

import hashlib
from uuid import UUID

from django.core import signing

from accounts.models import Invitation
from anex.core.errors import NotFound

SALT = "accounts.invitation"


def open_of(organization_id: UUID) -> list[Invitation]:
    """Invitations that were neither taken nor revoked, expired ones among them, the newest first."""
    found = Invitation.objects.filter(organization_id=organization_id, accepted_at=None, revoked_at=None)
    return list(found.select_related("invited_by").order_by("-created_at"))


def by_token(token: str) -> Invitation:
    """The invitation a link names, in whatever state; NotFound for a link nobody sent or that was replaced."""
    try:
        signing.Signer(salt=SALT).unsign(token)
    except signing.BadSignature:
        refuse_unknown()
    found = Invitation.objects.filter(token_sha256=digest(token)).select_related("organization", "invited_by")
    return found.first() or refuse_unknown()


def refuse_unknown() -> Invitation:
    """The one answer for every id or link that names no invitation."""
    raise NotFound("There is no such invitation.")


def digest(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).digest()
