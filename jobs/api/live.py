"""GET /jobs/{id}/rows: the finished rows of a job while it runs (an addition to reference 003)."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from jobs.api import requests
from jobs.api.endpoint import JOB_ID, Endpoint
from jobs.api.errors import refusals
from jobs.run import live

LINES = "text/plain"


class RowsAfterSerializer(serializers.Serializer[Any]):
    """Where a read begins."""

    after = serializers.IntegerField(
        min_value=0, max_value=10_000_000, default=0, help_text="How many rows the caller has already."
    )


class RowsView(Endpoint):
    """`/jobs/{id}/rows`."""

    @extend_schema(
        operation_id="getJobRows",
        tags=["jobs"],
        summary="Read the finished rows of a job while it runs",
        description="Lines of the result in input order, as JSON Lines, up to the first that is not finished; "
        "some megabytes at a time. `X-Next-After` says where to go on; where it is what was asked, nothing is new.",
        parameters=[JOB_ID, RowsAfterSerializer],
        responses={(200, LINES): OpenApiResponse(OpenApiTypes.STR, "The lines, or none."), **refusals(404, 410, 421)},
    )
    def get(self, request: Request, id: str) -> HttpResponse:
        """The finished rows behind the first `after` ones."""
        asked = RowsAfterSerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        after = asked.validated_data["after"]
        rows = live.finished(organization_id=self.caller.organization_id, job_id=requests.job_id(id), after=after)
        headers = {"X-Next-After": str(rows.after)}
        return HttpResponse(rows.lines, content_type=f"{LINES}; charset=utf-8", headers=headers)
