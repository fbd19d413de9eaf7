"""What every page of the console may show."""

from typing import Any

from django.http import HttpRequest

from accounts.selectors import freezes


def maintenance(request: HttpRequest) -> dict[str, Any]:
    """`api_frozen`: whether the batch API is frozen; asked only by pages that show it."""
    return {"api_frozen": lambda: freezes.is_frozen("batch")}
