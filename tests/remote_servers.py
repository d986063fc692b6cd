"""Servers that a remote index must bear: one that is away for a while, and one that answers whatever a test says."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PIECE_BYTES = 65_536


class Loopback:
    """Listens on this machine and gives each connection to a function, in a thread of its own."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            self._serve(connection)


class Unsteady:
    """Stands before a server; some connections it cuts at once, and of some it takes the request and no answer back."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.n_cut_before = 0
        self.n_cut_after = 0
        self.n_requests = 0

    def __call__(self, client: socket.socket) -> None:
        self.n_requests += 1
        if self.n_cut_before:
            self.n_cut_before -= 1
            return
        with socket.create_connection(("127.0.0.1", self._port)) as server:
            server.sendall(_for(self._port, request_of(client)))
            answer = b"".join(_until_complete(server))
            if self.n_cut_after:
                self.n_cut_after -= 1
                return
            client.sendall(answer)


def _for(port: int, request: bytes) -> bytes:
    """Name the server that is meant, which answers to no other name."""
    return re.sub(rb"(?i)(\r\nhost: 127\.0\.0\.1:)\d+", lambda found: found[1] + str(port).encode(), request, count=1)


def request_of(client: socket.socket) -> bytes:
    """Read one request with its body."""
    return b"".join(_until_complete(client))


def _until_complete(connection: socket.socket) -> Iterator[bytes]:
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(_PIECE_BYTES)
        if not piece:
            return
        head += piece
    yield head
    fields, _, body = head.partition(b"\r\n\r\n")
    lengths = [line for line in fields.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    left = int(lengths[0].partition(b":")[2]) - len(body) if lengths else 0
    while left > 0:
        piece = connection.recv(_PIECE_BYTES)
        if not piece:
            return
        left -= len(piece)
        yield piece
