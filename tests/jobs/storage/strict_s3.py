"""A real S3-compatible server (moto) behind a gate for what moto lets through: presigned forms and links.

Forms made by botocore are judged by the same rules as our own store's, with this server's key and bucket.
"""

import io
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, quote

from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.formparser import parse_form_data
from werkzeug.serving import WSGIRequestHandler, make_server

from jobs.storage import policy
from jobs.storage.policy import Refused, Signer

ACCESS_KEY, SECRET, REGION = "AKTEST", "SKTEST123", "us-east-1"


class Gate:
    """WSGI middleware in front of moto. While it is `away` everything is answered 503, as S3 does."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self.app = app
        self.away = False
        self.url = ""

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        try:
            if self.away:
                raise Refused("ServiceUnavailable", 503, "Please reduce your request rate.")
            if environ.get("CONTENT_TYPE", "").startswith("multipart/form-data"):
                self._form(environ, body)
            elif "X-Amz-Signature" in environ.get("QUERY_STRING", ""):
                self._link(environ)
        except Refused as refusal:
            start(f"{refusal.status} Refused", [("Content-Type", "application/xml")])
            return [refusal.xml()]
        return self.app({**environ, "wsgi.input": io.BytesIO(body)}, start)

    def _form(self, environ: dict[str, Any], body: bytes) -> None:
        _, form, files = parse_form_data({**environ, "wsgi.input": io.BytesIO(body)}, stream_factory=_in_memory)
        signer = Signer(ACCESS_KEY, SECRET, REGION, environ["PATH_INFO"].strip("/"))
        grant = policy.check_upload(signer, {k.lower(): v for k, v in form.items()}, now=datetime.now(UTC))
        if len(files["file"].read()) > grant.max_bytes:
            raise policy.too_large()

    def _link(self, environ: dict[str, Any]) -> None:
        query = dict(parse_qsl(environ["QUERY_STRING"]))
        signature = query.pop("X-Amz-Signature")
        signed = "&".join(f"{name}={quote(value, safe='-_.~')}" for name, value in query.items())
        request = AWSRequest(environ["REQUEST_METHOD"], f"http://{environ['HTTP_HOST']}{environ['PATH_INFO']}?{signed}")
        request.headers["host"] = environ["HTTP_HOST"]
        request.context["timestamp"] = query["X-Amz-Date"]
        auth = S3SigV4QueryAuth(Credentials(ACCESS_KEY, SECRET), "s3", REGION)
        text = auth.string_to_sign(request, auth.canonical_request(request))
        if auth.signature(text, request) != signature:
            raise Refused("SignatureDoesNotMatch", 403, "The signature does not match.")
        signed_at = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if datetime.now(UTC) > signed_at + timedelta(seconds=int(query["X-Amz-Expires"])):
            raise Refused("AccessDenied", 403, "Request has expired")


def _in_memory(*args: Any, **kwargs: Any) -> io.BytesIO:
    return io.BytesIO()


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        """Requests are not news."""


@contextmanager
def gate() -> Iterator[Gate]:
    """The server, as long as the block lasts."""
    app = Gate(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
    app.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield app
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serving() -> Iterator[str]:
    """The server's address, as long as the block lasts."""
    with gate() as running:
        yield running.url
