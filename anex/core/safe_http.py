"""HTTPS to addresses that customers name: webhooks, sources of inputs, media.

Such a URL may name our own network, so: https only, ports 443 and 8443, no user or password, a plain host name or
address, and every address the name resolves to must be public. The name is resolved once; the connection goes to an
address that was checked, with the name in TLS and in `Host`. Redirects are answers like any other, proxies of the
environment are not used, nothing is decompressed, and every wait ends. Errors never quote more of a URL than its host.
"""

import http.client
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from anex.core import addresses, clock, destinations, tracing
from anex.core.destinations import Destination, RefusedUrl, Rules, Unreachable
from anex.core.errors import TooLarge

BLOCK_BYTES = 64 * 1024
CONNECT_TIMEOUT_S = 5.0
# For an answer's head, and for each block of its body: who drips bytes, or sends lines without end, is never silent and
# would hold a place for the total time.
STEP_TIMEOUT_S = 60.0
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,15})-[0-9]{1,15}/([0-9]{1,15})")


@lru_cache(maxsize=1)
def system_trust() -> ssl.SSLContext:
    """Verifies names and certificates against the roots of the operating system."""
    return trusting(ssl.create_default_context())


def trusting(context: ssl.SSLContext) -> ssl.SSLContext:
    """The context, with sockets that keep a deadline."""
    context.sslsocket_class = _TimedSocket
    return context


# Where the platform goes. Tests bring their own server, certificate and names.
PUBLIC = Rules(
    allows=addresses.is_public, ports=frozenset({443, 8443}), trust=system_trust, resolve=destinations.resolve
)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; header names are lower case, the body is cut at the cap that was given."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer whose body is still to come."""

    status: int
    headers: Mapping[str, str]
    blocks: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Range:
    """Some bytes of a file, and the size of all of it where the server tells; no bytes where it serves no ranges."""

    body: bytes = field(repr=False)
    total: int | None


def check_url(url: str, *, timeout_s: float = CONNECT_TIMEOUT_S, rules: Rules | None = None) -> None:
    """Raise RefusedUrl, with a sentence that names the reason, unless the URL may be requested just now.

    The name is resolved; Unreachable when no resolver answers. A later request checks again by itself.
    """
    rules = rules or PUBLIC
    destinations.checked_addresses(destinations.parse(url, rules), rules, clock.monotonic() + timeout_s)


def post(
    url: str,
    *,
    body: bytes,
    headers: Mapping[str, str],
    total_timeout_s: float,
    max_response_bytes: int,
    rules: Rules | None = None,
) -> Reply:
    """Send `body`; all of it, from the resolver to the last byte, in `total_timeout_s`. Raises RefusedUrl, Unreachable.

    Once the status is known the body is extra: what is over the cap, too late or cut off is left out.
    """
    sent = {**headers, **tracing.headers()}
    with _request("POST", url, rules, total_timeout_s, total_timeout_s, body=body, headers=sent) as (response, _):
        received = bytearray()
        try:
            while len(received) < max_response_bytes and (block := response.read(BLOCK_BYTES)):
                received += block
        except (OSError, http.client.HTTPException, ValueError):
            pass
        return Reply(response.status, _headers(response), bytes(received[:max_response_bytes]))


def head(url: str, *, total_timeout_s: float, rules: Rules | None = None) -> Reply:
    """Status and headers of what a GET would answer. Raises RefusedUrl, Unreachable."""
    with _request("HEAD", url, rules, total_timeout_s, total_timeout_s, body=None, headers={}) as (response, _):
        return Reply(response.status, _headers(response), b"")


def get_range(url: str, *, offset: int, size: int, total_timeout_s: float, rules: Rules | None = None) -> Range:
    """Up to `size` bytes from `offset` on, all in `total_timeout_s`. Raises RefusedUrl.

    Unreachable also for an answer that is neither a 200 nor the range that was asked for. Of a 200 no body is read.
    """
    asked = {"Range": f"bytes={offset}-{offset + size - 1}"}
    with _request("GET", url, rules, total_timeout_s, total_timeout_s, body=None, headers=asked) as (response, peer):
        if response.status == http.client.OK:
            return Range(b"", response.length)
        found = _CONTENT_RANGE.fullmatch(response.getheader("Content-Range", ""))
        if response.status != http.client.PARTIAL_CONTENT or found is None or int(found[1]) != offset:
            raise Unreachable(f"The answer is not the range that was asked for (status {response.status}).")
        _refuse_encodings(response)
        received = bytearray()
        for block in _blocks(response, peer, size + BLOCK_BYTES):
            received += block
            if len(received) >= size:
                break
        return Range(bytes(received[:size]), int(found[2]))


@contextmanager
def stream_get(
    url: str,
    *,
    total_timeout_s: float,
    idle_timeout_s: float,
    max_bytes: int,
    rules: Rules | None = None,
) -> Iterator[Stream]:
    """Status, headers and the body block by block; leaving the block drops the rest.

    Raises RefusedUrl; TooLarge as soon as a 200 announces, or a body turns out to have, more than `max_bytes`;
    Unreachable when the time is over (in all, in silence or for one block), the answer breaks off or is compressed.
    """
    with _request("GET", url, rules, total_timeout_s, idle_timeout_s, body=None, headers={}) as (response, peer):
        if response.status == http.client.OK:
            _refuse_encodings(response)
            if response.length is not None and response.length > max_bytes:
                raise _too_large(max_bytes)
        yield Stream(response.status, _headers(response), _blocks(response, peer, max_bytes))


@contextmanager
def _request(
    method: str,
    url: str,
    rules: Rules | None,
    total_s: float,
    idle_s: float,
    *,
    body: bytes | None,
    headers: Mapping[str, str],
) -> Iterator[tuple[http.client.HTTPResponse, "_TimedSocket"]]:
    rules = rules or PUBLIC
    deadline = clock.monotonic() + total_s
    target = destinations.parse(url, rules)
    context = rules.trust()
    with closing(http.client.HTTPSConnection(target.host, target.port, context=context)) as connection:
        connection.auto_open = 0  # it would resolve the name once more
        sent = {"User-Agent": "Anex", "Accept-Encoding": "identity", "Connection": "close", **headers}
        try:
            connection.sock = peer = _connect(target, rules, context, deadline, idle_s)
            connection.request(method, target.path, body=body, headers=sent)
            peer.begin_step()
            response = connection.getresponse()
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _unreachable(target.host, error) from None
        with closing(response):
            yield response, peer


def _connect(
    target: Destination, rules: Rules, context: ssl.SSLContext, deadline: float, idle_s: float
) -> "_TimedSocket":
    """A TLS connection to one of the checked addresses, in the resolver's order."""
    failure: OSError = TimeoutError()
    for address in destinations.checked_addresses(target, rules, deadline):
        try:
            plain = socket.create_connection((str(address), target.port), min(CONNECT_TIMEOUT_S, _left(deadline)))
        except OSError as error:
            failure = error
            continue
        try:
            plain.settimeout(min(idle_s, _left(deadline)))
            # A body without a length ends with TLS's own farewell, or it was cut off.
            secure = context.wrap_socket(plain, server_hostname=target.host, suppress_ragged_eofs=False)
        except BaseException:
            plain.close()
            raise
        if not isinstance(secure, _TimedSocket):
            raise TypeError("Rules.trust must come from safe_http.trusting.")
        secure.deadline, secure.idle_s = deadline, idle_s
        return secure
    raise failure


class _TimedSocket(ssl.SSLSocket):
    """Whatever is waited for ends after `idle_s` seconds, and everything at `deadline` (monotonic) or with its step."""

    deadline = step_ends = float("inf")
    idle_s = CONNECT_TIMEOUT_S

    def begin_step(self) -> None:
        """What is read from now on is one step, which has STEP_TIMEOUT_S."""
        self.step_ends = clock.monotonic() + STEP_TIMEOUT_S

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(min(self.idle_s, _left(min(self.deadline, self.step_ends))))
        return super().recv_into(*args, **kwargs)

    def send(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(min(self.idle_s, _left(self.deadline)))
        return super().send(*args, **kwargs)


def _blocks(response: http.client.HTTPResponse, peer: _TimedSocket, max_bytes: int) -> Iterator[bytes]:
    received = 0
    try:
        while block := _next_block(response, peer):
            received += len(block)
            if received > max_bytes:
                raise _too_large(max_bytes)
            yield block
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unreachable(f"The answer broke off ({_reason(error)}).") from None
    if response.length:
        raise Unreachable("The answer ended before its announced length.")


def _next_block(response: http.client.HTTPResponse, peer: _TimedSocket) -> bytes:
    peer.begin_step()
    return response.read(BLOCK_BYTES)


def _refuse_encodings(response: http.client.HTTPResponse) -> None:
    coding = response.getheader("Content-Encoding", "identity").strip().lower()
    transfer = response.getheader("Transfer-Encoding", "chunked").strip().lower()
    if coding not in ("identity", "") or transfer != "chunked":
        raise RefusedUrl("The answer is compressed; it must be sent as it is (Content-Encoding: identity).")


def _left(deadline: float) -> float:
    left = deadline - clock.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def _headers(response: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"The file is larger than {max_bytes} bytes.")


def _unreachable(host: str, error: Exception) -> Unreachable:
    return Unreachable(f"{host} could not be reached ({_reason(error)}).")


def _reason(error: Exception) -> str:
    """In words of ours: what a peer sent is not quoted."""
    match error:
        case TimeoutError():
            return "it took too long"
        case ssl.SSLCertVerificationError():
            return "its certificate is not valid"
        case ssl.SSLError():
            return "TLS failed"
        case OSError() | http.client.IncompleteRead():
            return "the connection failed"
        case _:
            return "its answer is not HTTP"
