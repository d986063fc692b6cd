"""One request to a server that may be slow, broken or hostile, and its answer, both of bounded size and time.

Nothing is followed to another address, so the token goes to none but the server that was named.
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
"""Longer than a server lets anything wait."""

_ANYWHERE: Final = Destinations(allow_private=True)


class Request(NamedTuple):
    """What to ask: a path of the API, and what is sent with it."""

    method: str
    path: str
    query: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Response(NamedTuple):
    """What was answered; the names of headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswerError(UnavailableError):
    """A server was not reached, or did not answer to the end; the same request may be answered later."""


class Exchange:
    """Sends requests to one server, with the token that it knows us by; threads may share it."""

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
        """Send a request and read what is answered, whatever its status.

        Raises:
            NoAnswerError: there is none, or a part of one alone.
            UnavailableError: the answer is none that can be read, or the server is not who it should be.
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
                return Response(response.status, headers, self._without_token(body))
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
            raise self._failure(error) from error

    def _url(self, request: Request) -> httpcore.URL:
        url = self.address.url
        return httpcore.URL(
            scheme=url.raw_scheme,
            host=url.raw_host,
            port=url.port,
            target=self.address.target(request.path, request.query),
        )

    def _headers(self, request: Request) -> list[tuple[bytes, bytes]]:
        given = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"dirindex/{__version__}",
            **({"Authorization": f"Bearer {self._token}"} if self._token else {}),
            **({"Content-Length": str(len(request.body))} if request.body else {}),
            **({"traceparent": around} if (around := spans.traceparent()) else {}),
            **request.headers,
        }
        return [(name.encode("ascii"), value.encode("ascii")) for name, value in given.items()]

    def _body(self, pieces: Iterable[bytes], headers: Mapping[str, str]) -> bytes:
        if headers.get("content-encoding", "identity") != "identity":
            raise UnavailableError(f"{self.address.shown} answers with what is packed, though it was told not to")
        return b"".join(self._bounded(pieces))

    def _without_token(self, body: bytes) -> bytes:
        """Mask the token, which servers and proxies may repeat: what they answer gets to assistants and into logs."""
        token = self._token.encode("ascii")
        return body.replace(token, b"*" * len(token)) if token else body

    def _bounded(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        left = self._longest_answer
        for piece in pieces:
            left -= len(piece)
            if left < 0:
                raise UnavailableError(
                    f"{self.address.shown} answers with more than {self._longest_answer:,} bytes",
                    hint="ask for less at once",
                )
            yield piece

    def _addresses(self, host: str, port: int) -> list[str]:
        """Look a name up; one that stands for this machine, and so may be asked unencrypted, must lead to it."""
        found = self._look_up(host, port)
        if self.address.is_local and not all(map(is_loopback_address, found)):
            raise UnavailableError(f"{host} does not lead to this machine", hint="write --remote http://127.0.0.1:PORT")
        return found

    def _failure(self, error: Exception) -> UnavailableError:
        refused = _cause(error)
        if isinstance(refused, ssl.SSLCertVerificationError):
            return UnavailableError(
                f"{self.address.shown} does not prove who it is: {refused.verify_message}",
                hint="check the address; SSL_CERT_FILE names the certificates of an authority of your own",
            )
        late = isinstance(error, httpcore.TimeoutException)
        return NoAnswerError(f"{self.address.shown} {'takes too long' if late else 'cannot be reached'}")


def _headers(sent: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1").strip() for name, value in sent}


def _cause(error: BaseException) -> BaseException:
    while (before := error.__cause__ or error.__context__) is not None:
        error = before
    return error
