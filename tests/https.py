"""A real HTTPS server on this machine for what calls out to customers: certificates of a test authority, raw answers.

It listens on 127.0.0.1; a second listener on 127.0.0.2 stands for the inner network, and counts who comes.
"""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from anex.core import safe_http
from anex.core.addresses import Address
from anex.core.destinations import Rules

HOST = "source.test"
OUTSIDE = ip_address("127.0.0.1")  # the tests' public address
INSIDE = ip_address("127.0.0.2")
_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True)
class Request:
    """What arrived; header names are lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Handler = Callable[[Request, socket.socket], None]


@dataclass
class Server:
    """A running server. `handlers` answer by path (without query), on the raw connection."""

    port: int
    handlers: dict[str, Handler] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str = "/", host: str = HOST) -> str:
        return f"https://{host}:{self.port}{path}"

    def answer(self, path: str, status: int = 200, body: bytes = b"", **headers: str) -> None:
        """Answer `path` with this; underscores in header names are dashes."""
        lines = {"Content-Length": str(len(body))} | {name.replace("_", "-"): text for name, text in headers.items()}
        head = "".join(f"{name}: {text}\r\n" for name, text in lines.items())
        self.handlers[path] = lambda _, peer: peer.sendall(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + body)


@dataclass
class Listener:
    """Counts connections, and takes none of them further."""

    port: int
    connections: int = 0


@dataclass(frozen=True)
class Authority:
    """The folder with `authority.pem` and `server.pem`."""

    folder: Path

    def trust(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.folder / "authority.pem"))
        return safe_http.trusting(context)

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "server.pem")
        return context


def rules_for(server: Server, authority: Authority, names: dict[str, list[Address]] | None = None) -> Rules:
    """Rules under which the server's address and port are public; every name resolves to it unless `names` say more."""
    known = names or {}
    return Rules(
        allows=lambda address: address == OUTSIDE,
        ports=frozenset({443, server.port}),
        trust=authority.trust,
        resolve=lambda host, port: known.get(host, [OUTSIDE]),
    )


def make_authority(folder: Path) -> Authority:
    """An authority and a certificate for HOST and 127.0.0.1."""
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
    names = [x509.DNSName(HOST), x509.IPAddress(OUTSIDE)]
    root = (
        _builder(root_name, root_name, root_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_SIGNS_CERTIFICATES, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(root_key.public_key()), critical=False)
        .sign(root_key, hashes.SHA256())
    )
    leaf = (
        _builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)]), root_name, key)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key()), critical=False)
        .sign(root_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "authority.pem").write_bytes(root.public_bytes(pem))
    (folder / "server.pem").write_bytes(secret + leaf.public_bytes(pem))
    return Authority(folder)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )


@contextmanager
def serving(authority: Authority) -> Iterator[Server]:
    """The server, as long as the block lasts."""
    with socket.create_server((str(OUTSIDE), 0)) as listening:
        server = Server(listening.getsockname()[1])
        context = authority.server_context()

        def each(peer: socket.socket) -> None:
            # Clients that hang up, refuse the certificate or are cut off are what the tests are about.
            with peer, contextlib.suppress(OSError, ValueError), context.wrap_socket(peer, server_side=True) as secure:
                request = _read(secure)
                server.requests.append(request)
                server.handlers.get(request.path.partition("?")[0], _not_found)(request, secure)
                secure.settimeout(1)
                secure.unwrap()

        with _accepting(listening, each):
            yield server
        server.stopping.set()


@contextmanager
def inner_listener(address: str = str(INSIDE)) -> Iterator[Listener]:
    """A listener on the inner address."""
    with socket.create_server((address, 0)) as listening:
        listener = Listener(listening.getsockname()[1])

        def each(peer: socket.socket) -> None:
            listener.connections += 1
            peer.close()

        with _accepting(listening, each):
            yield listener


@contextmanager
def _accepting(listening: socket.socket, each: Callable[[socket.socket], None]) -> Iterator[None]:
    def accept() -> None:
        while True:
            try:
                peer, _ = listening.accept()
            except OSError:
                return
            peer.settimeout(30)
            threading.Thread(target=each, args=(peer,), daemon=True).start()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def _not_found(_: Request, peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n")


def _read(peer: socket.socket) -> Request:
    with peer.makefile("rb") as file:
        method, path, _ = file.readline().decode("latin-1").split(" ", 2)
        headers = {}
        while line := file.readline().decode("latin-1").strip():
            name, _, text = line.partition(":")
            headers[name.lower()] = text.strip()
        return Request(method, path, headers, file.read(int(headers.get("content-length", 0))))
