"""Batches on the OpenAI-compatible host (reference 000, batch endpoints). Each view parses, makes one call, renders."""

import logging

from rest_framework.request import Request
from rest_framework.response import Response

from anex.core.errors import AnexError
from jobs.api import requests
from jobs.api.batches import rendering
from jobs.api.batches.requests import read_create, read_page
from jobs.api.openai import OpenAIEndpoint
from jobs.selectors import batches
from jobs.services import batches as services

log = logging.getLogger(__name__)

_UNSURE = "Something went wrong on our side. List your batches before you try again: this one may exist."


class BatchesView(OpenAIEndpoint):
    """`/batches`."""

    def post(self, request: Request) -> Response:
        """A new batch, validating; the same request under the same `Idempotency-Key` makes no second one."""
        caller, made = self.caller, False
        attempt = requests.attempt(request, caller, "createBatch")
        asked = read_create(request.content_type, request.body)
        try:
            job = services.create(
                organization_id=caller.organization_id,
                asked=asked,
                require_model=caller.require_model,
                actor=caller.actor,
                attempt=attempt,
            )
            made = True
            return Response(rendering.batch(batches.get(caller.organization_id, batches.wire_id(job))))
        except Exception as error:
            if isinstance(error, AnexError) and not made:
                raise
            log.exception("a batch may have been made")
            raise AnexError(_UNSURE) from error

    def get(self, request: Request) -> Response:
        """A page of batches, newest first."""
        found = batches.page(self.caller.organization_id, **read_page(request.query_params))
        return Response(rendering.page(found))


class BatchView(OpenAIEndpoint):
    """`/batches/{batch_id}`."""

    def get(self, request: Request, id: str) -> Response:
        """The batch as it is now."""
        return Response(rendering.batch(batches.get(self.caller.organization_id, id)))


class CancelBatchView(OpenAIEndpoint):
    """`/batches/{batch_id}/cancel`."""

    def post(self, request: Request, id: str) -> Response:
        """Stop the batch; what finished is delivered and billed. Safe to repeat."""
        caller, job_id = self.caller, batches.job_id(id)
        services.cancel(organization_id=caller.organization_id, job_id=job_id, actor=caller.actor)
        return Response(rendering.batch(batches.get(caller.organization_id, id)))
