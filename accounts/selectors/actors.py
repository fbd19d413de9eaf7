"""Names for the actors kept in other tables as `kind:id`."""

from collections.abc import Iterable
from uuid import UUID

from accounts.models import ApiKey, User


def describe(organization_id: UUID, actor: str) -> str:
    """Who that was, for the organization's people; the platform and its staff are not named one by one."""
    return names(organization_id, [actor])[actor]


def names(organization_id: UUID, actors: Iterable[str]) -> dict[str, str]:
    """`describe` for many actors, in at most two queries."""
    wanted = {actor: actor.partition(":") for actor in actors}
    keys = [identity for kind, _, identity in wanted.values() if kind == "key"]
    people = [identity for kind, _, identity in wanted.values() if kind == "user" and identity.isdecimal()]
    key_names = dict(ApiKey.objects.filter(pk__in=keys, organization_id=organization_id).values_list("pk", "name"))
    emails = {str(pk): email for pk, email in User.objects.filter(pk__in=people).values_list("pk", "email")}
    described = {}
    for actor, (kind, _, identity) in wanted.items():
        if kind == "key":
            described[actor] = f"key “{key_names.get(identity, identity)}”"
        elif kind == "user":
            described[actor] = emails.get(identity, "a former member")
        else:
            described[actor] = "Anex"
    return described
