"""Where data of the other region is served (references 001 and 003, 421 and MisdirectedError)."""

from typing import Final

from django.conf import settings

from anex.core.errors import AnexError, Misdirected
from jobs.storage.interface import StoreUnavailable

NAMES: Final = {"world": "the world region", "eu": "the EU region"}


def elsewhere(region: str) -> AnexError:
    """The refusal of what concerns data of another region than this process's: Misdirected, naming the API to use.

    StoreUnavailable where this installation knows of no such API.
    """
    origin = settings.ANEX_OTHER_REGION_URL.rstrip("/")
    if not origin:
        return StoreUnavailable(f"Data of the region {region} is not kept here.")
    return Misdirected(
        f"This data belongs in {NAMES[region]}. Send the request to {origin}.",
        extra={"residency": region, "api": origin},
    )
