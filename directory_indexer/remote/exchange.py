"""A single HTTP exchange with a server that may be slow, broken or hostile; size and time are bounded.

Redirects are not followed, so the token goes to no other server than the configured one.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import httpcore
import httpx

from directory_indexer import __version__
from directory_indexer.converting.destinations import Destinations
from directory_indexer.converting.network import Lookup, Network, addresses_of
from directory_indexer.errors import UnavailableError
from directory_indexer.remote.address import RemoteAddress, is_loopback_address
from directory_indexer.telemetry import spans

LONGEST_ANSWER: Final = 32_000_000
_MOST_SECONDS: Final = 90.0
"""Longer than the longest wait that a server offers."""

_ANYWHERE: Final = Destinations(allow_private=True)


class Request(NamedTuple):
    """A request to a path of the API."""

    method: str
    path: str
    query: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Response(NamedTuple):
    """A response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswerError(UnavailableError):
    """The server could not be reached, or its response is incomplete; a retry may succeed."""


class Exchange:
    """An HTTP client of one server, authenticated by a token. Thread-safe."""

    def __init__(
        self,
        address: RemoteAddress,
        token: str,
        *,
        seconds: float = _MOST_SECONDS,
        longest_answer: int = LONGEST_ANSWER,
        look_up: Lookup = addresses_of,
    ) -> None:
        self.address = address
        self._token = token
        self._seconds = seconds
        self._longest_answer = longest_answer
        self._look_up = look_up
        self._tls = httpx.create_ssl_context() if address.url.scheme == "https" else None

    def send(self, request: Request) -> Response:
        """Send a request and return the response, whatever its status.

        Raises:
            NoAnswerError: there is no response, or an incomplete one.
            UnavailableError: the response is invalid or too long, or the TLS certificate of the server is.
        """
        deadline = time.monotonic() + self._seconds
        network = Network(deadline=deadline, destinations=_ANYWHERE, look_up=self._addresses)
        try:
            with (
                httpcore.ConnectionPool(ssl_context=self._tls, network_backend=network) as connections,
                connections.stream(
                    request.method, self._url(request), headers=self._headers(request), content=request.body
                ) as response,
            ):
                headers = _headers(response.headers)
                body = self._body(response.iter_stream(), headers)
                return Response(response.status, headers, self._mask_token(body))
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
            raise self._error_of(error) from error

    def _url(self, request: Request) -> httpcore.URL:
        url = self.address.url
        return httpcore.URL(
            scheme=url.raw_scheme,
            host=url.raw_host,
            port=url.port,
            target=self.address.target(request.path, request.query),
        )

    def _headers(self, request: Request) -> list[tuple[bytes, bytes]]:
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"dirindex/{__version__}",
            **({"Authorization": f"Bearer {self._token}"} if self._token else {}),
            **({"Content-Length": str(len(request.body))} if request.body else {}),
            **({"traceparent": around} if (around := spans.traceparent()) else {}),
            **request.headers,
        }
        return [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]

    def _body(self, pieces: Iterable[bytes], headers: Mapping[str, str]) -> bytes:
        if headers.get("content-encoding", "identity") != "identity":
            raise UnavailableError(f"{self.address.display_url} answers with what is packed, though it was told not to")
        return b"".join(self._bounded_chunks(pieces))

    def _mask_token(self, body: bytes) -> bytes:
        """Mask the token: servers and proxies may echo it, and responses reach assistants and logs."""
        token = self._token.encode("ascii")
        return body.replace(token, b"*" * len(token)) if token else body

    def _bounded_chunks(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        n_remaining = self._longest_answer
        for piece in pieces:
            n_remaining -= len(piece)
            if n_remaining < 0:
                raise UnavailableError(
                    f"{self.address.display_url} answers with more than {self._longest_answer:,} bytes",
                    hint="ask for less at once",
                )
            yield piece

    def _addresses(self, host: str, port: int) -> list[str]:
        """Resolve a host name; one that counts as local, and so may be used unencrypted, must resolve to loopback."""
        addresses = self._look_up(host, port)
        if self.address.is_local and not all(map(is_loopback_address, addresses)):
            raise UnavailableError(f"{host} does not lead to this machine", hint="write --remote http://127.0.0.1:PORT")
        return addresses

    def _error_of(self, error: Exception) -> UnavailableError:
        cause = _cause(error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            return UnavailableError(
                f"{self.address.display_url} does not prove who it is: {cause.verify_message}",
                hint="check the address; SSL_CERT_FILE names the certificates of an authority of your own",
            )
        is_timeout = isinstance(error, httpcore.TimeoutException)
        return NoAnswerError(f"{self.address.display_url} {'takes too long' if is_timeout else 'cannot be reached'}")


def _headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1").strip() for name, value in pairs}


def _cause(error: BaseException) -> BaseException:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error
