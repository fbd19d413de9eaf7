"""HEAD and ranges of files at addresses of customers: the same rules as for any other request."""

import re
import socket

import pytest

from anex.core import safe_http
from anex.core.destinations import RefusedUrl, Rules, Unreachable
from tests import https

FILE = bytes(range(256)) * 1000


def serve_ranges(server: https.Server, path: str, data: bytes) -> None:
    """Answer ranges of `data` as object stores do."""

    def handle(request: https.Request, peer: socket.socket) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers["range"])
        assert asked
        first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
        body = data[first : last + 1]
        head = (
            f"HTTP/1.1 206 X\r\nContent-Length: {len(body)}\r\nContent-Range: bytes {first}-{last}/{len(data)}\r\n\r\n"
        )
        peer.sendall(head.encode() + body)

    server.handlers[path] = handle


def get_range(url: str, rules: Rules, offset: int = 0, size: int = 100, seconds: float = 10) -> safe_http.Range:
    return safe_http.get_range(url, offset=offset, size=size, total_timeout_s=seconds, rules=rules)


def test_head_answers_headers_and_no_body(https_server: https.Server, https_rules: Rules) -> None:
    https_server.answer("/clip", 200, b"", Content_Type="video/mp4", Content_Length="12345")
    reply = safe_http.head(https_server.url("/clip"), total_timeout_s=10, rules=https_rules)
    assert (reply.status, reply.headers["content-type"], reply.body) == (200, "video/mp4", b"")
    assert [request.method for request in https_server.requests] == ["HEAD"]


def test_a_range_comes_with_the_size_of_the_file(https_server: https.Server, https_rules: Rules) -> None:
    serve_ranges(https_server, "/clip", FILE)
    url = https_server.url("/clip")
    assert get_range(url, https_rules, 200_000, 80_000) == safe_http.Range(FILE[200_000:], len(FILE))
    assert get_range(url, https_rules, 3, 4) == safe_http.Range(FILE[3:7], len(FILE))


def test_a_host_without_ranges_tells_the_size_alone(https_server: https.Server, https_rules: Rules) -> None:
    https_server.answer("/clip", 200, FILE)
    assert get_range(https_server.url("/clip"), https_rules) == safe_http.Range(b"", len(FILE))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 X\r\nLocation: https://127.0.0.2/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 206 X\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 206 X\r\nContent-Length: 2\r\nContent-Range: bytes 5-6/9\r\n\r\nab",
        b"HTTP/1.1 206 X\r\nContent-Length: 9\r\nContent-Range: bytes 0-8/9\r\n\r\nab",
    ],
)
def test_another_answer_is_no_range(https_server: https.Server, https_rules: Rules, answer: bytes) -> None:
    https_server.handlers["/clip"] = lambda _, peer: peer.sendall(answer)
    with pytest.raises(Unreachable):
        get_range(https_server.url("/clip"), https_rules)


def test_a_compressed_range_is_refused(https_server: https.Server, https_rules: Rules) -> None:
    https_server.answer("/clip", 206, b"ab", Content_Range="bytes 0-1/2", Content_Encoding="gzip")
    with pytest.raises(RefusedUrl, match="compressed"):
        get_range(https_server.url("/clip"), https_rules)


def test_a_range_longer_than_asked_is_cut(https_server: https.Server, https_rules: Rules) -> None:
    https_server.answer("/clip", 206, FILE, Content_Range=f"bytes 0-{len(FILE) - 1}/{len(FILE)}")
    assert get_range(https_server.url("/clip"), https_rules).body == FILE[:100]


def test_nobody_inside_is_asked(inner: https.Listener, https_rules: Rules) -> None:
    url = f"https://{https.INSIDE}:{inner.port}/clip"
    with pytest.raises(RefusedUrl):
        get_range(url, https_rules)
    with pytest.raises(RefusedUrl):
        safe_http.head(url, total_timeout_s=1, rules=https_rules)
    assert inner.connections == 0
