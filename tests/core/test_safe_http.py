"""What a server may do to us while we ask it something: redirect, dawdle, flood, lie. Nobody inside hears of it."""

import gzip
import socket
import threading
from dataclasses import replace
from ipaddress import ip_address

import pytest

from anex.core import safe_http
from anex.core.destinations import RefusedUrl, Rules, Unreachable
from anex.core.errors import TooLarge
from tests import https

HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def server(https_server: https.Server) -> https.Server:
    return https_server


@pytest.fixture
def rules(https_rules: Rules) -> Rules:
    return https_rules


def post(url: str, rules: Rules, **options) -> safe_http.Reply:
    caps = {"total_timeout_s": 10, "max_response_bytes": 1000} | options
    return safe_http.post(url, body=b'{"a":1}', headers={"Content-Type": "application/json"}, rules=rules, **caps)


def get(url: str, rules: Rules, **options) -> tuple[safe_http.Stream, bytes]:
    caps = {"total_timeout_s": 10, "idle_timeout_s": 10, "max_bytes": 1_000_000} | options
    with safe_http.stream_get(url, rules=rules, **caps) as stream:
        return stream, b"".join(stream.blocks)


def dripping(first: bytes, drop: bytes, server: https.Server):
    """Send `first`, then `drop` again and again until the other side has had enough."""

    def handle(_: https.Request, peer: socket.socket) -> None:
        peer.sendall(first)
        while not server.stopping.wait(0.02):
            peer.sendall(drop)

    return handle


def test_a_post_arrives_with_its_headers_body_and_the_name_of_the_host(server, rules):
    server.answer("/hook", 202, b"thanks", X_Note="seen")
    reply = post(server.url("/hook?a=b"), rules)
    assert (reply.status, reply.body, reply.headers["x-note"]) == (202, b"thanks", "seen")
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("POST", "/hook?a=b", b'{"a":1}')
    assert request.headers["host"] == f"{https.HOST}:{server.port}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"


def test_an_address_may_be_named_where_its_certificate_names_it(server, rules):
    server.answer("/", 204)
    assert post(server.url("/", host="127.0.0.1"), rules).status == 204


def test_a_certificate_for_another_name_is_refused(server, rules):
    with pytest.raises(Unreachable, match="certificate") as refusal:
        post(server.url("/", host="other.test"), rules)
    assert refusal.value.code == "unreachable"
    assert server.requests == []


def test_a_certificate_of_an_unknown_authority_is_refused(server, rules):
    with pytest.raises(Unreachable, match="certificate"):
        post(server.url("/"), replace(rules, trust=safe_http.system_trust))


def test_a_body_is_streamed_whole(server, rules):
    body = bytes(range(256)) * 3000
    server.answer("/rows", 200, body)
    stream, received = get(server.url("/rows"), rules)
    assert (stream.status, received) == (200, body)
    assert stream.headers["content-length"] == str(len(body))


def test_chunks_and_a_body_that_ends_with_the_connection_are_read(server, rules):
    server.handlers["/chunks"] = lambda _, peer: peer.sendall(
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    server.handlers["/close"] = lambda _, peer: peer.sendall(HEAD + b"\r\nabcde")
    assert get(server.url("/chunks"), rules)[1] == b"abcde"
    assert get(server.url("/close"), rules)[1] == b"abcde"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_and_is_not_followed(server, rules, inner, status):
    location = f"https://{https.INSIDE}:{inner.port}/latest/meta-data"
    server.answer("/away", status, b"", Location=location)
    assert post(server.url("/away"), rules).status == status
    stream, _ = get(server.url("/away"), rules)
    assert (stream.status, stream.headers["location"]) == (status, location)
    assert inner.connections == 0


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY"])
def test_proxies_of_the_environment_are_not_used(server, rules, inner, monkeypatch, variable):
    monkeypatch.setenv(variable, f"http://{https.INSIDE}:{inner.port}")
    server.answer("/", 204)
    assert post(server.url("/"), rules).status == 204
    assert inner.connections == 0


def test_an_inner_address_is_not_connected_to(server, rules, inner):
    strict = replace(rules, ports=frozenset({inner.port}), resolve=lambda host, port: [https.OUTSIDE, https.INSIDE])
    for url in (f"https://{https.INSIDE}:{inner.port}/", f"https://two.test:{inner.port}/"):
        with pytest.raises(RefusedUrl, check=lambda refusal: refusal.code == "refused_url"):
            post(url, strict)
    assert inner.connections == 0


def test_the_next_address_is_tried_where_nobody_listens_at_the_first(server, authority):
    rules = https.rules_for(server, authority, {https.HOST: [ip_address("127.0.0.3"), https.OUTSIDE]})
    server.answer("/", 204)
    both = replace(rules, allows=lambda address: address != https.INSIDE)
    assert post(server.url("/"), both).status == 204


DRIPS = [
    (b"", b""),
    (b"", b"H"),
    (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"),
    (HEAD, b"a: b\r\n"),
    (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    (HEAD + b"Content-Length: 1000000\r\n\r\n", b"a"),
    (HEAD + b"\r\n", b"a"),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
]


@pytest.mark.parametrize(("first", "drop"), DRIPS)
def test_whatever_drips_ends_with_the_total_time(server, rules, first, drop):
    server.handlers["/slow"] = dripping(first, drop, server)
    with pytest.raises(Unreachable):
        get(server.url("/slow"), rules, total_timeout_s=0.3)


@pytest.mark.parametrize(("first", "drop"), DRIPS)
def test_whatever_drips_and_gets_nowhere_ends_long_before_the_total_time(server, rules, monkeypatch, first, drop):
    monkeypatch.setattr(safe_http, "STEP_TIMEOUT_S", 0.3)
    server.handlers["/slow"] = dripping(first, drop, server)
    with pytest.raises(Unreachable):
        get(server.url("/slow"), rules, total_timeout_s=600)


def test_silence_ends_before_the_total_time(server, rules):
    server.handlers["/silent"] = dripping(HEAD + b"Content-Length: 9\r\n\r\na", b"", server)
    with pytest.raises(Unreachable, match="too long"):
        get(server.url("/silent"), rules, total_timeout_s=600, idle_timeout_s=1)


def test_a_server_that_never_greets_is_given_up(rules):
    with socket.create_server((str(https.OUTSIDE), 0)) as mute:
        port = mute.getsockname()[1]
        with pytest.raises(Unreachable):
            post(f"https://{https.HOST}:{port}/", replace(rules, ports=frozenset({port})), total_timeout_s=0.3)


def test_a_resolver_that_never_answers_is_given_up(rules):
    asked = threading.Event()
    stuck = replace(rules, resolve=lambda host, port: [https.OUTSIDE] if asked.wait(30) else [])
    try:
        with pytest.raises(Unreachable, match="resolved"):
            post(f"https://{https.HOST}/", stuck, total_timeout_s=0.2)
        with pytest.raises(Unreachable, match="resolved"):
            safe_http.check_url(f"https://{https.HOST}/", timeout_s=0.2, rules=stuck)
    finally:
        asked.set()


def test_an_announced_size_over_the_cap_is_refused_before_the_body(server, rules):
    server.answer("/big", 200, b"", Content_Length="1000001")
    with (
        pytest.raises(TooLarge),
        safe_http.stream_get(
            server.url("/big"), total_timeout_s=10, idle_timeout_s=10, max_bytes=1_000_000, rules=rules
        ),
    ):
        pytest.fail("the block must not run")


@pytest.mark.parametrize("first", [HEAD + b"\r\n", HEAD + b"Content-Length: nonsense\r\n\r\n"])
def test_an_endless_body_ends_at_the_cap(server, rules, first):
    server.handlers["/endless"] = dripping(first, b"a" * 100_000, server)
    with pytest.raises(TooLarge):
        get(server.url("/endless"), rules)


def test_endless_chunks_end_at_the_cap(server, rules):
    server.handlers["/endless"] = dripping(
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"186a0\r\n" + b"a" * 100_000 + b"\r\n", server
    )
    with pytest.raises(TooLarge):
        get(server.url("/endless"), rules)


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "br", "deflate", "zstd", "gzip, gzip"])
def test_a_compressed_body_is_refused_and_never_unpacked(server, rules, coding):
    server.answer("/bomb", 200, gzip.compress(b"\0" * 10_000_000), Content_Encoding=coding)
    with pytest.raises(RefusedUrl, match="compressed"):
        get(server.url("/bomb"), rules)


def test_a_reply_is_cut_at_its_cap_and_stays_compressed(server, rules):
    bomb = gzip.compress(b"\0" * 10_000_000)
    server.answer("/bomb", 200, bomb, Content_Encoding="gzip")
    server.handlers["/endless"] = dripping(HEAD + b"\r\n", b"a" * 10_000, server)
    assert post(server.url("/bomb"), rules).body == bomb[:1000]
    assert post(server.url("/endless"), rules).body == b"a" * 1000


def test_a_reply_whose_body_drips_keeps_its_status(server, rules):
    server.handlers["/slow"] = dripping(HEAD + b"\r\n", b"a", server)
    assert post(server.url("/slow"), rules, total_timeout_s=2).status == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"a" * 100_000 + b"\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/9.9 abc\r\n\r\n",
        b"",
    ],
)
def test_half_an_answer_or_another_protocol_is_no_answer(server, rules, sent):
    server.handlers["/odd"] = lambda _, peer: peer.sendall(sent)
    with pytest.raises(Unreachable):
        get(server.url("/odd"), rules)


def test_a_connection_cut_without_farewell_is_half_an_answer(server, rules):
    def cut(_: https.Request, peer: socket.socket) -> None:
        peer.sendall(HEAD + b"\r\nhalf")
        peer.shutdown(socket.SHUT_RDWR)

    server.handlers["/cut"] = cut
    with pytest.raises(Unreachable):
        get(server.url("/cut"), rules)


def test_a_port_where_nobody_listens_is_unreachable(server, rules):
    with socket.create_server((str(https.OUTSIDE), 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(Unreachable, match=r"source\.test could not be reached"):
        post(f"https://{https.HOST}:{port}/secret?token=secret", replace(rules, ports=frozenset({port})))
