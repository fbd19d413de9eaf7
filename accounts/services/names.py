"""The one rule for names people give to keys and organizations."""

from anex.core.errors import InvalidRequest

MAX_LENGTH = 100


def clean(name: str) -> str:
    """The name without outer spaces; raises InvalidRequest (400) when nothing usable is left."""
    trimmed = name.strip()
    if not trimmed:
        raise InvalidRequest("Give it a name.", param="name")
    if len(trimmed) > MAX_LENGTH:
        raise InvalidRequest(f"A name has at most {MAX_LENGTH} characters.", param="name")
    if not trimmed.isprintable():
        raise InvalidRequest("A name may not contain control characters.", param="name")
    return trimmed


def from_email(email: str) -> str:
    """A first name for a person's own organization; an address may hold what a name may not."""
    local = email.rpartition("@")[0][:MAX_LENGTH]
    return "".join(character for character in local if character.isprintable()).strip() or "My organization"
