"""What GET /jobs takes and answers: filters, a cursor that means nothing to its reader, and a page of jobs."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from jobs.api.schemas import STATUSES, JobSerializer
from jobs.selectors import pages
from jobs.selectors.pages import Filters, Place

MAX_LIMIT = 100
DEFAULT_LIMIT = 20


class CursorField(serializers.CharField):
    """A cursor that an earlier page answered."""

    def to_internal_value(self, data: Any) -> Place:  # type: ignore[override]
        """The place it stands for."""
        try:
            return pages.decode(super().to_internal_value(data))
        except ValueError as error:
            raise serializers.ValidationError("is not a cursor of this list") from error


class ListJobsSerializer(serializers.Serializer[Any]):
    """The query of GET /jobs; unknown parameters are ignored."""

    status = serializers.ListField(
        child=serializers.ChoiceField(choices=STATUSES),
        required=False,
        help_text="Only jobs in one of these statuses; repeat it, or separate them by commas.",
    )
    model = serializers.CharField(required=False, max_length=64, help_text="Only jobs of this model.")
    created_after = serializers.DateTimeField(required=False, help_text="Only jobs created later than this.")
    created_before = serializers.DateTimeField(required=False, help_text="Only jobs created earlier than this.")
    key = serializers.CharField(
        required=False, max_length=64, help_text="Only jobs submitted with the API key of this id."
    )
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT, help_text="Jobs per page."
    )
    after = CursorField(required=False, help_text="`next_cursor` of the page before; the filters must be the same.")


class ListedJobSerializer(JobSerializer):
    """A job as getJob answers it, but for what its customer wrote: only getJob reads that from the store."""

    failure_reason = None  # type: ignore[assignment]
    failure_errors = None  # type: ignore[assignment]
    response_format = None  # type: ignore[assignment]


class JobListSerializer(serializers.Serializer[Any]):
    """A page of jobs, newest first."""

    data = ListedJobSerializer(many=True)  # type: ignore[assignment]
    has_more = serializers.BooleanField()
    next_cursor = serializers.CharField(allow_null=True, help_text="What to send as `after`; null on the last page.")


def query(request: Request) -> dict[str, Any]:
    """The keyword arguments of `pages.page` that the query gives; whatever does not fit is 422 naming the field."""
    given: dict[str, Any] = dict(request.query_params.items())
    if "status" in given:
        given["status"] = [name for value in request.query_params.getlist("status") for name in value.split(",")]
    checked = ListJobsSerializer(data=given)
    checked.is_valid(raise_exception=True)
    fields = checked.validated_data
    filters = Filters(
        statuses=fields.get("status"),
        model_id=fields.get("model"),
        created_after=fields.get("created_after"),
        created_before=fields.get("created_before"),
        created_by=f"key:{fields['key']}" if "key" in fields else None,
    )
    return {"filters": filters, "after": fields.get("after"), "limit": fields["limit"]}
