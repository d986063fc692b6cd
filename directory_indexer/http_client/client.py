"""HTTP client within bounds: TLS is verified, redirects are not followed, and answers have a maximum size.

All network waits of a request share one deadline, however slowly a server sends. No compression is requested, and
nothing is decompressed. A host name is resolved once, so the addresses that were checked are those connected to.
"""

from __future__ import annotations

import os
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, Self

import httpcore
import httpx

from directory_indexer.http_client import FailureKind, RequestError

Headers = Mapping[str, str]
Lookup = Callable[[str, int], Sequence[str]]
"""Resolves a host and a port to addresses to connect to, in their order; may raise to refuse them."""


class Request(NamedTuple):
    """An HTTP request."""

    method: str
    url: httpx.URL
    headers: Headers
    content: bytes = b""


class Response(NamedTuple):
    """An HTTP response; names of headers are in lower case, and repeated headers are joined as a list."""

    status: int
    headers: Headers
    content: bytes


def _unresolved(host: str, port: int) -> Sequence[str]:  # noqa: ARG001 - a `Lookup`
    return [host]


def _wants_body(status: int, headers: Headers) -> bool:  # noqa: ARG001 - for every response
    return True


def _as_sent(pieces: Iterable[bytes], headers: Headers) -> Iterable[bytes]:  # noqa: ARG001 - for every response
    return pieces


class Client:
    """Connections to servers, shared by threads.

    `proxied` is a URL whose proxy in the environment is used. `check` is called several times a second during
    a wait, and may raise to end it. `timeouts` are those of single steps: "connect", "read" and "write".
    """

    def __init__(
        self,
        *,
        max_bytes: int,
        proxied: httpx.URL | None = None,
        addresses: Lookup = _unresolved,
        check: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        timeouts: Mapping[str, float | None] | None = None,
    ) -> None:
        self.clock = clock
        self._max_bytes = max_bytes
        self._timeouts = {"connect": _CONNECT_SECONDS, **(timeouts or {})}
        self._network = Network(addresses, check=check, clock=clock)
        self._connections = _connections(proxied, self._network)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(
        self,
        request: Request,
        *,
        until: float,
        wants_body: Callable[[int, Headers], bool] = _wants_body,
        unpack: Callable[[Iterable[bytes], Headers], Iterable[bytes]] = _as_sent,
        max_bytes: int | None = None,
    ) -> Response:
        """Send a request, and return the response; its content is what `unpack` makes of it, or empty.

        It is empty unless `wants_body`. What `unpack` does not take is not received.

        Raises:
            RequestError: the response is missing, incomplete or too large, or did not end before `until`.
        """
        method, url, headers, content = request
        seconds = until - self.clock()
        self._network.begin(until)
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        options = {"timeout": self._timeouts}
        sent = [(name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in headers.items()]
        try:
            with self._connections.stream(
                method, target, headers=sent, content=content or None, extensions=options
            ) as response:
                received = _decoded(response.headers)
                if not wants_body(response.status, received):
                    return Response(response.status, received, b"")
                body = _read_bounded(unpack(response.iter_stream(), received), max_bytes or self._max_bytes)
                return Response(response.status, received, body)
        except (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.ProxyError) as error:
            message = f"cannot be connected to: {error}"[:_MAX_MESSAGE_CHARS]
            raise RequestError(FailureKind.UNREACHABLE, message) from error
        except httpcore.TimeoutException as error:
            raise RequestError(FailureKind.SLOW, f"did not answer within {seconds:.0f} s") from error
        except httpcore.LocalProtocolError:  # its message quotes the header, which may be the key
            message = "cannot be asked: a header has characters that HTTP does not allow"
            raise RequestError(FailureKind.REFUSED, message) from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise RequestError(FailureKind.BROKEN, f"broke off: {error}"[:_MAX_MESSAGE_CHARS]) from error

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()


def _decoded(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    decoded: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), value.decode("utf-8", "replace")
        decoded[key] = f"{decoded[key]}, {text}" if key in decoded else text
    return decoded


def _read_bounded(pieces: Iterable[bytes], max_bytes: int) -> bytes:
    content = bytearray()
    for piece in pieces:
        content += piece
        if len(content) > max_bytes:
            raise RequestError(FailureKind.INVALID, f"answered more than {max_bytes // 1_000_000} MB")
    return bytes(content)


def _connections(proxied: httpx.URL | None, network: httpcore.NetworkBackend) -> httpcore.ConnectionPool:
    """Return a connection pool with the certificates of the environment, and its proxy."""
    settings: dict[str, Any] = {
        "ssl_context": _tls_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
        "max_connections": _MAX_CONNECTIONS,
        "keepalive_expiry": _KEEPALIVE_SECONDS,
        "network_backend": network,
    }
    proxies = urllib.request.getproxies() if proxied else {}
    proxy = proxied and (proxies.get(proxied.scheme) or proxies.get("all"))
    if not proxied or not proxy or urllib.request.proxy_bypass(proxied.host):
        return httpcore.ConnectionPool(**settings)
    proxy_url = httpx.URL(proxy if "://" in proxy else f"http://{proxy}")
    account = (proxy_url.username.encode(), proxy_url.password.encode()) if proxy_url.username else None
    return httpcore.HTTPProxy(
        httpcore.URL(scheme=proxy_url.raw_scheme, host=proxy_url.raw_host, port=proxy_url.port, target=b"/"),
        proxy_auth=account,
        **settings,
    )


@cache
def _tls_context(*_: str | None) -> ssl.SSLContext:
    """Return the TLS settings of all clients in this environment; reading its certificates takes 30 ms."""
    return httpx.create_ssl_context()


class Network(httpcore.NetworkBackend):
    """Connects to addresses of a `Lookup`, and ends a thread's waits at the deadline of its request."""

    def __init__(
        self,
        addresses: Lookup,
        *,
        check: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._addresses = addresses
        self._check = check
        self._clock = clock
        self._request = threading.local()
        self._inner = httpcore.SyncBackend()

    def begin(self, until: float) -> None:
        """Set the deadline of the request that this thread makes."""
        self._request.until = until

    def wait(self, step: Callable[[float], bytes], timeout: float | None) -> bytes:
        """Call a step that waits, in short turns, until it ends.

        Raises:
            ReadTimeout: the time of the request or of the step is over.
        """
        end = self._request.until if timeout is None else min(self._request.until, self._clock() + timeout)
        while True:
            try:
                return step(min(self.seconds(end), _STEP_SECONDS))
            except httpcore.ReadTimeout:
                self.seconds(end)

    def seconds(self, end: float | None = None) -> float:
        """Return the time until the end of a step, or of the request.

        Raises:
            ReadTimeout: none is left.
        """
        self._check()
        remaining: float = (self._request.until if end is None else end) - self._clock()
        if remaining <= 0:
            raise httpcore.ReadTimeout
        return remaining

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of a host that accepts the connection."""
        *others, last = self._addresses(host, port)

        def connect(address: str) -> httpcore.NetworkStream:
            seconds = min(self.seconds(), timeout or _CONNECT_SECONDS)
            return _Stream(self._inner.connect_tcp(address, port, seconds, local_address, socket_options), self)

        for address in others:
            try:
                return connect(address)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return connect(last)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, network: Network) -> None:
        self._inner = inner
        self._network = network

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._network.wait(lambda seconds: self._inner.read(max_bytes, seconds), timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _STEP_BYTES):
            self._inner.write(buffer[start : start + _STEP_BYTES], min(self._network.seconds(), timeout or _FOREVER))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        seconds = min(self._network.seconds(), timeout or _CONNECT_SECONDS)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, seconds), self._network)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


_CONNECT_SECONDS: Final = 10.0
_STEP_SECONDS: Final = 0.2
_FOREVER: Final = float("inf")
_STEP_BYTES: Final = 1 << 16
_KEEPALIVE_SECONDS: Final = 30.0
_MAX_CONNECTIONS: Final = 256
_MAX_MESSAGE_CHARS: Final = 200
