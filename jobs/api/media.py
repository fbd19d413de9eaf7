"""`POST /v1/uploads`, the same on `/openai/v1`: a place for a picture or clip that a request then names (004)."""

from typing import Any, Final, cast

from django.http import HttpResponseRedirect
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.callers import Caller
from accounts.selectors import freezes
from accounts.services import bursts
from anex.core.errors import PaymentRequired
from billing.api.openai import OpenAIView
from inference.refusals import RowError, expected
from inference.requests import bodies
from inference.requests.profiles import OPENAI_V1, V1, Profile
from jobs.api.openai import read_body
from jobs.services import media
from jobs.services.media import MediaUpload

_FIELD: Final = "content_type"


class UploadsView(OpenAIView):
    """`/uploads`. Whoever may ask a model that takes media may upload some."""

    @property
    def profile(self) -> Profile:
        """The surface that is asked."""
        return OPENAI_V1 if self.request.path.startswith(OPENAI_V1.name) else V1

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuses what requests of the surface are refused for before their model is known."""
        super().initial(request, *args, **kwargs)
        caller = cast(Caller, request.auth)
        freezes.require_open("realtime")
        bursts.take(organization_id=caller.organization_id, burst=caller.plan.burst)
        caller.plan.require_generate()
        caller.require_scope("text:write", "embeddings:write")

    def post(self, request: Request) -> Response:
        """Where to send a file of a media type, and the URL to name it by."""
        body = read_body(request.content_type or "", request.body, (_FIELD,), profile=self.profile)
        try:
            content_type = body.get(_FIELD)
            if not isinstance(content_type, str):
                raise expected("a string", content_type, _FIELD)
            organization_id = cast(Caller, request.auth).organization_id
            return Response(_told(media.create(organization_id=organization_id, content_type=content_type)))
        except RowError as error:
            raise bodies.refused(error, self.profile) from None

    def handle_exception(self, exc: Exception) -> Response:
        """A balance that is too low is what the surface calls it."""
        if isinstance(exc, PaymentRequired):
            exc = self.profile.unpaid(exc.message, code=exc.code, extra=exc.extra)
        return super().handle_exception(exc)


class UploadedView(OpenAIView):
    """The read URL. Its signature is the proof, as with every link to the store."""

    authentication_classes = []

    def get(self, request: Request, name: str) -> HttpResponseRedirect:
        """On to where the store has the file."""
        answer = HttpResponseRedirect(media.link(name, request.query_params.get("signature", "")))
        answer["Cache-Control"] = "private, no-store"
        return answer


def _told(upload: MediaUpload) -> dict[str, Any]:
    return {
        "object": "upload",
        "upload_url": upload.target.url,
        "fields": upload.target.fields,
        "max_bytes": upload.max_bytes,
        "upload_expires_at": int(upload.upload_ends.timestamp()),
        "read_url": upload.read_url,
        "expires_at": int(upload.ends.timestamp()),
    }
