"""A server in front of the platform that cuts connections: an upload or a download breaks off, as on a bad line."""

import contextlib
import socket
import threading
from dataclasses import dataclass, field

Cuts = dict[bytes, list[int]]


@dataclass
class CuttingProxy:
    """Passes bytes both ways to `port`. `cuts` says of a path's beginning after how many bytes the next ones break."""

    port: int
    cuts: Cuts = field(default_factory=dict)
    heads: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.own_port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept nothing more."""
        self._server.close()

    def ranges(self, path: bytes) -> list[bytes]:
        """The ranges that requests of this path's beginning asked for; empty where they asked for none."""
        found = []
        for head in self.heads:
            if head.split(b" ")[1].startswith(path):
                lines = head.lower().split(b"\r\n")
                found.append(next((line[7:] for line in lines if line.startswith(b"range: ")), b""))
        return found

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        upstream = socket.create_connection(("127.0.0.1", self.port))
        with client, upstream, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                if not (piece := client.recv(65536)):
                    return
                head += piece
            self.heads.append(head)
            path = head.split(b" ")[1]
            left = next((cuts.pop(0) for begin, cuts in self.cuts.items() if cuts and path.startswith(begin)), None)
            upstream.sendall(head)
            done = threading.Event()
            ways = ((client, upstream), (upstream, client))
            threads = [threading.Thread(target=self._pass, args=(*way, left, done), daemon=True) for way in ways]
            for thread in threads:
                thread.start()
            done.wait()
            for end in (client, upstream):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def _pass(source: socket.socket, target: socket.socket, left: int | None, done: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(16384):
                target.sendall(piece)
                left = None if left is None else left - len(piece)
                if left is not None and left <= 0:
                    break
        done.set()
