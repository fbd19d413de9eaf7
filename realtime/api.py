"""The realtime API (references 001 and 003) as far as it goes: no model is served in realtime yet, and it says so."""

from typing import cast

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.callers import Caller
from anex.core.errors import InvalidRequest, NotFound, NotServed, Unprocessable
from inference import catalogue

ROUTES = {"embed": "/realtime/v1/embeddings", "decide": "/realtime/v1/systemone"}


class ModelsView(APIView):
    """`/models`."""

    authentication_classes = []
    schema = None

    def get(self, request: Request) -> Response:
        """The models served in realtime: none so far."""
        return Response({"object": "list", "data": []})


class RealtimeView(APIView):
    """A call that names a model; each answers for the models of its task."""

    schema = None
    task = ""
    scope = ""

    def post(self, request: Request) -> Response:
        """Refuses every model, with the reason that holds for it."""
        caller = cast(Caller, request.auth)
        caller.require_scope(self.scope)
        body = request.data if isinstance(request.data, dict) else {}
        name = body.get("model")
        if not isinstance(name, str):
            raise Unprocessable("model is required.", param="model")
        model = catalogue.get(name)
        if model is None or not model.is_for(caller.organization_id):
            raise NotFound(f"unknown model '{name}'")
        if model.task in ROUTES and model.task != self.task:
            raise InvalidRequest(f"model '{name}' is served by POST {ROUTES[model.task]}", param="model")
        raise NotServed(f"model '{name}' is not served in realtime here; use the batch API")


class EmbeddingsView(RealtimeView):
    """`/embeddings`."""

    task, scope = "embed", "embeddings:write"


class SystemOneView(RealtimeView):
    """`/systemone`."""

    task, scope = "decide", "decisions:write"
