"""Pages, and the files they load, travel compressed; docs/decisions/compression.md says why this is safe."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from anex.refusals import API_PATHS

_TEXTS = ("text/", "application/json", "application/vnd.oai.openapi", "image/svg+xml")


class PageCompression(GZipMiddleware):
    """Django's gzip, padded at random, for whole texts; the APIs answer as they are."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """The answer, compressed where that helps."""
        kind = response.headers.get("Content-Type", "")
        if response.status_code != 200 or request.path.startswith(API_PATHS) or not kind.startswith(_TEXTS):
            return response
        return super().process_response(request, response)
