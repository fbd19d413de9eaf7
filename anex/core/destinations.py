"""Where a URL leads: its parts, and the addresses behind its host, each of them checked."""

import queue
import re
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass

from anex.core import addresses, clock
from anex.core.addresses import Address
from anex.core.errors import AnexError, InvalidRequest

MAX_URL_LENGTH = 4096
_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
# At least two labels, the last of which is no number: `127.1` and `0x7f.1` are addresses to some resolvers.
_NAME = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)+(?!(?:[0-9]+|0x[0-9a-f]*)\Z){_LABEL}")
_URL = re.compile(r"https://(?P<authority>[^/?#]*)(?P<path>(?:[/?][^#]*)?)(?:#.*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<host>[^\[\]:@]+))(?::(?P<port>[0-9]{1,5}))?")
_PLAIN = re.compile(r"[\x21-\x5b\x5d-\x7e]+")  # printable ASCII without space and backslash


class RefusedUrl(InvalidRequest):
    """The URL leads where this platform does not go."""

    code = "refused_url"


class Unreachable(AnexError):
    """No answer, or half of one: trying again later may help."""

    status = 502
    code = "unreachable"


@dataclass(frozen=True)
class Rules:
    """Which addresses and ports are allowed, whose certificates are trusted, how names are resolved.

    `resolve` may raise OSError; `trust` answers a context made by `safe_http.trusting`.
    """

    allows: Callable[[Address], bool]
    ports: frozenset[int]
    trust: Callable[[], ssl.SSLContext]
    resolve: Callable[[str, int], list[Address]]


@dataclass(frozen=True, slots=True)
class Destination:
    """A URL in parts that no two parsers read differently; `path` carries the query."""

    host: str
    port: int
    path: str


def resolve(host: str, port: int) -> list[Address]:
    """What the name resolves to, by the system's resolver. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [address for *_, where in found if (address := addresses.parse(str(where[0]).partition("%")[0]))]


def parse(url: str, rules: Rules) -> Destination:
    """Take a URL apart. Raises RefusedUrl; its sentence names the reason, and never more of the URL than its host."""
    if len(url) > MAX_URL_LENGTH:
        raise RefusedUrl(f"The URL is longer than {MAX_URL_LENGTH} characters.")
    if not _PLAIN.fullmatch(url):
        raise RefusedUrl("The URL has characters that must be percent-encoded; a host name must be in its ASCII form.")
    parts = _URL.fullmatch(url)
    if parts is None:
        raise RefusedUrl("The URL must begin with https://.")
    if "@" in parts["authority"]:
        raise RefusedUrl("The URL must not carry a user name or password.")
    authority = _AUTHORITY.fullmatch(parts["authority"])
    if authority is None:
        raise RefusedUrl("The URL names no host.")
    port = int(authority["port"] or 443)
    if port not in rules.ports:
        raise RefusedUrl(f"Port {port} is not allowed; use {' or '.join(map(str, sorted(rules.ports)))}.")
    host = (authority["v6"] or authority["host"]).lower()
    if addresses.parse(host) is None and (authority["v6"] or not _NAME.fullmatch(host)):
        raise RefusedUrl("The URL's host is neither a full host name nor an address in its usual spelling.")
    path = parts["path"]
    return Destination(host, port, path if path.startswith("/") else f"/{path}")


def checked_addresses(destination: Destination, rules: Rules, deadline: float) -> list[Address]:
    """Every address of the destination. Raises RefusedUrl when a single one is not allowed.

    Unreachable when no resolver answers before `deadline`, a time of the monotonic clock.
    """
    literal = addresses.parse(destination.host)
    found = [literal] if literal else _resolve_within(destination, rules, deadline)
    if not found:
        raise RefusedUrl(f"{destination.host} has no address.")
    for address in found:
        if not rules.allows(address):
            # Not which one: what our resolver knows of inner names is ours.
            raise RefusedUrl(f"{destination.host} leads to an address that is not public.")
    return found


def _resolve_within(destination: Destination, rules: Rules, deadline: float) -> list[Address]:
    """The system's resolver has waits of its own; a thread that hangs in them is left behind."""
    answers: queue.SimpleQueue[list[Address] | OSError] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put(rules.resolve(destination.host, destination.port))
        except (OSError, UnicodeError) as error:
            answers.put(error if isinstance(error, OSError) else OSError(socket.EAI_NONAME, "not a name"))

    threading.Thread(target=work, name="resolver", daemon=True).start()
    try:
        answer = answers.get(timeout=max(0.0, deadline - clock.monotonic()))
    except queue.Empty:
        raise Unreachable(f"{destination.host} could not be resolved in time.") from None
    if isinstance(answer, OSError):
        if answer.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)):
            raise RefusedUrl(f"{destination.host} has no address.")
        raise Unreachable(f"{destination.host} could not be resolved.")
    return answer
