"""The bodies of refusals, as reference 003 names them, and which refusals every call may meet."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, PolymorphicProxySerializer
from rest_framework import serializers

REGIONS = ("world", "eu")


class ErrorSerializer(serializers.Serializer[Any]):
    """Why a request was refused, as a sentence. Three refusals carry `error` instead of `detail`."""

    detail = serializers.CharField(help_text="What is wrong, and what to do about it.")


class OrgSuspendedErrorSerializer(serializers.Serializer[Any]):
    """Every key of a suspended organization is refused with this; its running jobs finish."""

    error = serializers.ChoiceField(choices=["org_suspended"])
    message = serializers.CharField()


class FrozenErrorSerializer(serializers.Serializer[Any]):
    """The API is frozen for maintenance; results stay downloadable."""

    error = serializers.ChoiceField(choices=["frozen"])
    message = serializers.CharField()


class RateLimitDetailSerializer(serializers.Serializer[Any]):
    """What the edge says."""

    code = serializers.ChoiceField(choices=["rate_limit_exceeded"])
    message = serializers.CharField()
    type = serializers.ChoiceField(choices=["rate_limit_error"], required=False)


class RateLimitErrorSerializer(serializers.Serializer[Any]):
    """Requests arrive faster than the edge takes them; `Retry-After` says how long to wait."""

    error = RateLimitDetailSerializer()


class MisdirectedErrorSerializer(serializers.Serializer[Any]):
    """The data is kept in the other region: send the same request to the origin in `api`."""

    detail = serializers.CharField()
    residency = serializers.ChoiceField(choices=REGIONS, help_text="Where the data is kept.")
    api = serializers.URLField(help_text="The origin that serves this data; the path stays the same.")


def _either(name: str, *bodies: type[serializers.Serializer[Any]]) -> PolymorphicProxySerializer:
    return PolymorphicProxySerializer(component_name=name, serializers=list(bodies), resource_type_field_name=None)


BODIES: dict[int, Any] = {
    403: _either("Forbidden", OrgSuspendedErrorSerializer, ErrorSerializer),
    421: MisdirectedErrorSerializer,
    429: _either("TooManyRequests", ErrorSerializer, RateLimitErrorSerializer),
    503: _either("Unavailable", ErrorSerializer, FrozenErrorSerializer),
}
MEANINGS = {
    400: "The content of the request is refused; the sentence says which part and why.",
    401: "The key is unknown, malformed or no longer active.",
    402: "The credits do not cover this. Add credits, or ask for a higher credit limit.",
    403: "The organization is suspended, or this key or organization may not do this.",
    404: "No such id in this organization; ids of other organizations answer the same.",
    405: "The path does not take this method.",
    409: "The input or job is in the wrong state for this call.",
    410: "The data was deleted; nothing brings it back.",
    413: "Too many bytes.",
    415: "The body is not application/json.",
    421: "The data is kept in the other region; `api` names the origin to send the same request to.",
    422: "The Authorization header is missing, or the body does not fit; the sentence names the field.",
    429: "Too many requests, or too many jobs that await approval; wait as `Retry-After` says.",
    503: "A check could not be made just now, or the API is frozen for maintenance; send it again later.",
}
EVERY_CALL = (401, 403, 405, 422, 429, 503)


def refusals(*statuses: int) -> dict[int, OpenApiResponse]:
    """The body of each of these refusals and of those that every call may meet."""
    return {
        status: OpenApiResponse(BODIES.get(status, ErrorSerializer), description=MEANINGS[status])
        for status in sorted({*EVERY_CALL, *statuses})
    }
