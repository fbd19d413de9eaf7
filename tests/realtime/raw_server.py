"""A model server that answers every request with the bytes it is told, in the pieces it is told."""

import re
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@contextmanager
def raw_server(pieces: Sequence[bytes]) -> Iterator[int]:
    """The port; each piece is a packet, and after the last the connection ends."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_serve, args=(listening, pieces), daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def _serve(listening: socket.socket, pieces: Sequence[bytes]) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _read(connection)
            for piece in pieces:
                connection.sendall(piece)


def _read(connection: socket.socket) -> None:
    """The whole request: to close a connection of which something is unread takes the answer from the client."""
    read = b""
    while b"\r\n\r\n" not in read and (block := connection.recv(1 << 20)):
        read += block
    head, _, body = read.partition(b"\r\n\r\n")
    told = re.search(rb"(?i)^content-length: *(\d+)", head, re.MULTILINE)
    left = int(told[1]) - len(body) if told else 0
    while left > 0 and (block := connection.recv(1 << 20)):
        left -= len(block)
