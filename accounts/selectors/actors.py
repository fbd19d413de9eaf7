"""Names for the actors kept in other tables as `kind:id`."""

from uuid import UUID

from accounts.models import ApiKey, User


def describe(organization_id: UUID, actor: str) -> str:
    """Who that was, for the organization's people; the platform and its staff are not named one by one."""
    kind, _, identity = actor.partition(":")
    if kind == "key":
        name = ApiKey.objects.filter(pk=identity, organization_id=organization_id).values_list("name", flat=True)
        return f"key “{name.first() or identity}”"
    if kind == "user":
        return User.objects.filter(pk=identity).values_list("email", flat=True).first() or "a former member"
    return "Anex"
