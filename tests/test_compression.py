"""Pages and the files they load travel compressed, answers of the APIs as they are."""

import gzip

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client

from anex.compression import PageCompression

pytestmark = pytest.mark.django_db
READS_GZIP = Client(headers={"accept-encoding": "gzip, deflate, br"})


@pytest.mark.parametrize("path", ["/accounts/login/", "/openapi.json"])
def test_texts_are_compressed_for_who_reads_it(path: str, client: Client) -> None:
    plain, packed = client.get(path), READS_GZIP.get(path)
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert len(gzip.decompress(packed.content)) > 2 * len(packed.content)


def test_the_length_of_a_page_tells_nothing() -> None:
    assert len({len(READS_GZIP.get("/accounts/password/reset/").content) for _ in range(20)}) > 1


@pytest.mark.parametrize(
    ("path", "kind", "status"),
    [("/v1/files", "application/json", 200), ("/x", "application/zip", 200), ("/x", "text/css", 206)],
)
def test_the_rest_goes_as_it_is(path: str, kind: str, status: int) -> None:
    request = HttpRequest()
    request.path, request.META["HTTP_ACCEPT_ENCODING"] = path, "gzip"
    answer = HttpResponse(b"x" * 1000, content_type=kind, status=status)
    told = PageCompression(lambda _: answer)(request)
    assert told.content == b"x" * 1000
    assert "Content-Encoding" not in told.headers
