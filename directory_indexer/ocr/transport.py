"""HTTP transport for OCR services: TLS is verified, redirects are not followed, answers are bounded.

All network waits of a request share one deadline, however slowly a server sends, and end when the run is to stop. No
compression is requested, and nothing is decompressed.
"""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import httpcore
import httpx

from directory_indexer.ocr.retries import FailureKind, RequestError, RetryTiming, Stop

MAX_BYTES: Final = 8_000_000
"""The longest answer: a page with ten thousand words takes Azure some 3 MB."""


class Reply(NamedTuple):
    """An HTTP response; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Transport:
    """Connections to one server, shared by threads; a request may take `seconds`."""

    def __init__(self, address: httpx.URL, *, seconds: float, waiting: RetryTiming) -> None:
        self._seconds = seconds
        self._network = _Network(waiting)
        self._connections = _connections(address, self._network)

    def ask(self, method: str, url: httpx.URL, headers: Mapping[str, str], content: bytes = b"") -> Reply:
        """Make one request.

        Raises:
            RequestError: the answer is missing, incomplete or too large.
            ProviderError: the run is to stop.
        """
        self._network.begin(self._seconds)
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        try:
            with self._connections.stream(method, target, headers=list(headers.items()), content=content) as response:
                response_headers = {
                    name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
                }
                return Reply(response.status, response_headers, _gathered(response.iter_stream()))
        except (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.ProxyError) as error:
            raise RequestError(
                FailureKind.UNREACHABLE, f"cannot be connected to: {error}"[:_LONGEST_MESSAGE]
            ) from error
        except httpcore.TimeoutException as error:
            raise RequestError(FailureKind.SLOW, f"did not answer within {self._seconds:.0f} s") from error
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise RequestError(FailureKind.BROKEN, f"broke off: {error}"[:_LONGEST_MESSAGE]) from error

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()


def _gathered(pieces: Iterable[bytes]) -> bytes:
    gathered = bytearray()
    for piece in pieces:
        gathered += piece
        if len(gathered) > MAX_BYTES:
            raise RequestError(FailureKind.INVALID, f"answered more than {MAX_BYTES // 1_000_000} MB")
    return bytes(gathered)


def _connections(address: httpx.URL, network: httpcore.NetworkBackend) -> httpcore.ConnectionPool:
    """Return a connection pool with the proxy and certificates of the environment, as embedding clients have."""
    settings: dict[str, Any] = {
        "ssl_context": httpx.create_ssl_context(),
        "max_connections": _MAX_CONNECTIONS,
        "keepalive_expiry": _KEPT_SECONDS,
        "network_backend": network,
    }
    proxies = urllib.request.getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    if not proxy or urllib.request.proxy_bypass(address.host):
        return httpcore.ConnectionPool(**settings)
    way = httpx.URL(proxy if "://" in proxy else f"http://{proxy}")
    account = (way.username.encode(), way.password.encode()) if way.username else None
    return httpcore.HTTPProxy(
        httpcore.URL(scheme=way.raw_scheme, host=way.raw_host, port=way.port, target=b"/"),
        proxy_auth=account,
        **settings,
    )


class _Network(httpcore.NetworkBackend):
    """Connects, and ends a thread's wait when the time of its request is over."""

    def __init__(self, waiting: RetryTiming) -> None:
        self._clock = waiting.clock
        self._stop = Stop(waiting.must_stop)
        self._request = threading.local()
        self._inner = httpcore.SyncBackend()

    def begin(self, seconds: float) -> None:
        """Start the timeout of the request that this thread makes."""
        self._request.deadline = self._clock() + seconds

    def seconds(self) -> float:
        """Return the remaining time.

        Raises:
            ReadTimeout: none is left.
            ProviderError: the run is to stop.
        """
        self._stop.check()
        remaining: float = self._request.deadline - self._clock()
        if remaining <= 0:
            raise httpcore.ReadTimeout
        return remaining

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - `seconds` decides
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect; the timeout is short, since a reachable server accepts at once."""
        seconds = min(self.seconds(), _CONNECT_SECONDS)
        return _Stream(self._inner.connect_tcp(host, port, seconds, local_address, socket_options), self)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, network: _Network) -> None:
        self._inner = inner
        self._network = network

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        while True:
            try:
                return self._inner.read(max_bytes, min(self._network.seconds(), _STEP_SECONDS))
            except httpcore.ReadTimeout:
                self._network.seconds()

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        for start in range(0, len(buffer), _STEP_BYTES):
            self._inner.write(buffer[start : start + _STEP_BYTES], self._network.seconds())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: Any,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        seconds = min(self._network.seconds(), _CONNECT_SECONDS)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, seconds), self._network)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


_CONNECT_SECONDS: Final = 10.0
_STEP_SECONDS: Final = 0.2
_STEP_BYTES: Final = 1 << 16
_KEPT_SECONDS: Final = 30.0
_MAX_CONNECTIONS: Final = 256
_LONGEST_MESSAGE: Final = 200
