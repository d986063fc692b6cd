"""HTTP exchanges with a server that may be slow, broken or hostile: size and time are bounded, failures retried.

Redirects are not followed, so the token goes to no other server than the configured one, and it is never sent over an
unencrypted network connection by mistake. Retries have exponential backoff, full jitter and a time limit.
"""

from __future__ import annotations

import ipaddress
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple

import httpcore
import httpx

from directory_indexer import __version__
from directory_indexer.core.errors import UnavailableError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.http_client import FailureKind, RequestError, backoff_seconds, retry_after_seconds
from directory_indexer.http_client.client import Client, Request, Response
from directory_indexer.integrations.converting.destinations import Destinations, Lookup, addresses_of, checked_addresses
from directory_indexer.telemetry import spans

with lazily:
    from directory_indexer.integrations.converting.fetching import address_of, display_url

MAX_ANSWER_BYTES: Final = 32_000_000
_MAX_SECONDS: Final = 90.0
"""Longer than the longest wait that a server offers."""

_ANY_DESTINATION: Final = Destinations(allow_private=True)

_RETRYABLE_STATUSES: Final = frozenset({408, 425, 429, 502, 503, 504})
_CONFLICT: Final = 409
_BAD_GATEWAY: Final = 502
_IN_PROGRESS_CODE: Final = b'"in_hand"'
_UNREACHABLE_CODE: Final = b'"unreachable"'
_ERROR_CODE_BYTES: Final = 3600
"""The beginning of an error response, which names the error."""

_LOCALHOST = "localhost"


class HttpRequest(NamedTuple):
    """A request to a path of the API."""

    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = {}


class NoResponseError(UnavailableError):
    """The server could not be reached, or its response is incomplete; a retry may succeed."""


class HttpClient:
    """An HTTP client of one server, authenticated by a token. Thread-safe."""

    def __init__(
        self,
        address: RemoteAddress,
        token: str,
        *,
        seconds: float = _MAX_SECONDS,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        look_up: Lookup = addresses_of,
    ) -> None:
        self.address = address
        self._token = token
        self._seconds = seconds
        self._max_answer_bytes = max_answer_bytes
        self._look_up = look_up
        addresses = partial(checked_addresses, destinations=_ANY_DESTINATION, look_up=self._addresses)
        self._client = Client(max_bytes=max_answer_bytes, addresses=addresses)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(self, request: HttpRequest) -> Response:
        """Send a request and return the response, whatever its status.

        Raises:
            NoResponseError: there is no response, or an incomplete one.
            UnavailableError: the response is invalid or too long, or the TLS certificate of the server is.
        """
        sent = Request(request.method, self.address.url_of(request.path), self._headers(request), request.body)
        try:
            response = self._client.send(
                sent, until=time.monotonic() + self._seconds, unpack=self._require_uncompressed
            )
        except RequestError as error:
            raise self._translate_error(error) from error
        return response._replace(content=self._mask_token(response.content))

    def _headers(self, request: HttpRequest) -> dict[str, str]:
        return {
            "accept": "application/json",
            "accept-encoding": "identity",
            "user-agent": f"dirindex/{__version__}",
            **({"authorization": f"Bearer {self._token}"} if self._token else {}),
            **({"content-length": str(len(request.body))} if request.body else {}),
            **({"traceparent": around} if (around := spans.traceparent()) else {}),
            **request.headers,
        }

    def _require_uncompressed(self, pieces: Iterable[bytes], headers: Mapping[str, str]) -> Iterable[bytes]:
        if headers.get("content-encoding", "identity") != "identity":
            raise UnavailableError(f"{self.address.display_url} answers with compressed data, which was not requested")
        return pieces

    def _mask_token(self, body: bytes) -> bytes:
        """Mask the token: servers and proxies may echo it, and responses reach assistants and logs."""
        token = self._token.encode("ascii")
        return body.replace(token, b"*" * len(token)) if token else body

    def _addresses(self, host: str, port: int) -> list[str]:
        """Resolve a host name; one that counts as local, and so may be used unencrypted, must resolve to loopback."""
        addresses = self._look_up(host, port)
        if self.address.is_local and not all(map(is_loopback_address, addresses)):
            raise UnavailableError(f"{host} is not this machine", hint="write --remote http://127.0.0.1:PORT")
        return addresses

    def _translate_error(self, error: RequestError) -> UnavailableError:
        if isinstance(cause := _root_cause(error), ssl.SSLCertVerificationError):
            return UnavailableError(
                f"{self.address.display_url} has no valid TLS certificate: {cause.verify_message}",
                hint="check the address; SSL_CERT_FILE can name the certificates of your own authority",
            )
        if error.kind is FailureKind.INVALID:
            return UnavailableError(
                f"{self.address.display_url} answers with more than {self._max_answer_bytes:,} bytes",
                hint="ask for less at once",
            )
        is_timeout = isinstance(error.__cause__, httpcore.TimeoutException)
        return NoResponseError(f"{self.address.display_url} {'takes too long' if is_timeout else 'cannot be reached'}")


class Backoff(NamedTuple):
    """Waits between attempts, with jitter, whose maximum doubles each time, within an overall time limit."""

    first_seconds: float = 0.5
    longest_seconds: float = 15.0
    time_limit_seconds: float = 180.0


class RetryWait(NamedTuple):
    """A wait before the next attempt: number of failures, duration and reason of the last failure."""

    n_failures: int
    seconds: float
    reason: str


class CancelledError(UnavailableError):
    """The caller no longer waits for the response."""


class RetryingClient:
    """Sends requests until they succeed; requests must be idempotent."""

    def __init__(
        self,
        send: Callable[[HttpRequest], Response],
        *,
        backoff: Backoff = Backoff(),  # noqa: B008 - it is a value
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._send = send
        self._backoff = backoff
        self._clock = clock
        self._chance = chance

    def send(self, request: HttpRequest, *, pause: Callable[[RetryWait], None]) -> Response:
        """Return the response to a request; `pause` waits between attempts, and may raise to give up.

        Raises:
            UnavailableError: the server stayed unavailable until the time limit, or its response is invalid.
        """
        first, longest, time_limit = self._backoff
        deadline = self._clock() + time_limit
        n_failures = 0
        while True:
            response, reason = self._attempt(request)
            if response is not None and not is_retryable(response):
                return response
            n_failures += 1
            seconds = max(
                backoff_seconds(n_failures, first=first, longest=longest, chance=self._chance),
                (retry_after_seconds(response.headers) if response else None) or 0.0,
            )
            if self._clock() + seconds > deadline:
                raise UnavailableError(
                    f"{reason}; asked {n_failures} times, and gave up",
                    hint="it is unknown whether the server did anything; try again",
                )
            with spans.span("wait for server", n_failures=n_failures):
                pause(RetryWait(n_failures, seconds, reason))

    def _attempt(self, request: HttpRequest) -> tuple[Response | None, str]:
        try:
            with spans.span("ask server", bytes_in=len(request.body)) as span:
                response = self._send(request)
                span.note(status=response.status, bytes_out=len(response.content))
        except NoResponseError as error:
            return None, error.message
        return response, f"the server answers {response.status}"


class CancellableWait:
    """A cancellable wait between attempts."""

    def __init__(self, report: Callable[[RetryWait], None] = lambda _: None) -> None:
        self._report = report
        self._is_cancelled = threading.Event()

    def pause(self, wait: RetryWait) -> None:
        """Report the wait, then wait.

        Raises:
            CancelledError: the call was cancelled.
        """
        self._report(wait)
        if self._is_cancelled.wait(wait.seconds):
            raise CancelledError("the call was cancelled")

    def cancel(self) -> None:
        """Cancel the current wait and all further ones."""
        self._is_cancelled.set()


def is_retryable(response: Response) -> bool:
    """Whether a response means that a retry may succeed."""
    beginning = response.content[:_ERROR_CODE_BYTES]
    code = next((name for name in (_IN_PROGRESS_CODE, _UNREACHABLE_CODE) if name in beginning), b"")
    # This server works; the one that it should fetch from does not.
    is_upstream_failure = (response.status, code) == (_BAD_GATEWAY, _UNREACHABLE_CODE)
    is_in_progress = (response.status, code) == (_CONFLICT, _IN_PROGRESS_CODE)
    return is_in_progress or (response.status in _RETRYABLE_STATUSES and not is_upstream_failure)


class RemoteAddress(NamedTuple):
    """The base URL of an index server."""

    url: httpx.URL
    is_local: bool
    """Whether the host as written is the loopback interface."""

    @property
    def display_url(self) -> str:
        """The URL as messages show it."""
        return display_url(self.url)

    def url_of(self, path: str) -> httpx.URL:
        """Return the URL of a path of the API, below the path of the server."""
        return self.url.copy_with(raw_path=self.url.raw_path.rstrip(b"/") + path.encode("ascii"))


def parse_remote_address(text: str, *, allow_http: bool = False) -> RemoteAddress:
    """Parse the address of a server.

    Raises:
        UsageError: the address is invalid, or it is unencrypted HTTP to another machine without `allow_http`.
    """
    url = address_of(text)
    if url.query or url.fragment or "?" in text or "#" in text:
        raise UsageError(f"{display_url(url)} is asked with more than a path", hint="write --remote https://host")
    is_local = _is_loopback(url.host)
    if url.scheme == "http" and not is_local and not allow_http:
        raise UsageError(
            f"{display_url(url)} is not encrypted: anyone on the way could read the token and the documents",
            hint="write https://; or --allow-http, if the network is trusted",
        )
    return RemoteAddress(url, is_local)


def is_loopback_address(address: str) -> bool:
    """Whether a numeric IP address is a loopback address."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _root_cause(error: BaseException) -> BaseException:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def _is_loopback(host: str) -> bool:
    if host.lower().rstrip(".") == _LOCALHOST:
        return True
    try:
        return is_loopback_address(host)
    except ValueError:
        return False
