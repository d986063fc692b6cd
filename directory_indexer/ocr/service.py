"""HTTP requests to OCR services, and the interpretation of their errors."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple, Protocol

from directory_indexer.core.errors import ProviderError
from directory_indexer.core.files import Line
from directory_indexer.core.lazy import lazily
from directory_indexer.formats.pdf.raster import EncodedPage
from directory_indexer.http_client import (
    MAX_WAIT_SECONDS,
    FailureKind,
    RequestError,
    RetryPolicy,
    RetryTiming,
    items_in,
    object_in,
    parse_object,
    text_in,
)
from directory_indexer.ocr.engine import PageEstimate

with lazily:
    import httpx

    from directory_indexer.http_client.client import Client, Request, Response


class Access(NamedTuple):
    """Address, key and limits of a service; only the model affects the result."""

    endpoint: str
    model: str
    api_key: str
    concurrency: int = 4
    seconds: float = 120.0

    def __repr__(self) -> str:
        return f"Access({self.endpoint=}, {self.model=}, {self.concurrency=})"  # without the key


class Profile(NamedTuple):
    """The name of a service, its configuration section, and the header of its key."""

    name: str
    section: str
    key_header: str


class Transcript(NamedTuple):
    """The text that a service has read on a page, and the tokens it counted."""

    lines: tuple[Line, ...]
    n_input_tokens: int = 0
    n_output_tokens: int = 0


class OcrService(Protocol):
    """One model of a service; thread-safe.

    Raises:
        RequestError: a request failed permanently.
        PageRefusedError: it will never read this page.
        ProviderError: no request will succeed before the configuration or account is changed.
    """

    @property
    def recipe(self) -> str:
        """The service, model and versions that affect the result."""

    @property
    def client(self) -> ServiceClient:
        """The client for its requests."""

    def estimate(self) -> PageEstimate:
        """Return the estimated cost of a page."""

    def read(self, page: EncodedPage, *, until: float) -> Transcript:
        """Read a page before a deadline."""


class ServiceClient:
    """Requests to one service with its key and with retries."""

    def __init__(self, profile: Profile, access: Access, timing: RetryTiming) -> None:
        self.address = _address(access.endpoint, profile)
        self.place = f"{profile.name} at {self.address.scheme}://{self.address.netloc.decode('ascii', 'replace')}"
        self.retries = RetryPolicy(timing)
        self._section = profile.section
        self._key = access.api_key
        self._headers = {profile.key_header: _checked(access.api_key, profile), **_HEADERS}
        self._seconds = access.seconds
        self._client = Client(max_bytes=MAX_BYTES, proxied=self.address, check=timing.check, clock=timing.clock)

    def url(self, path: str, **parameters: str) -> httpx.URL:
        """Return the URL of a path below the endpoint."""
        return self.address.copy_with(path=self.address.path.rstrip("/") + path, params=parameters or None)

    def request(self, method: str, url: httpx.URL, body: bytes = b"", *, until: float) -> Response:
        """Make a request with retries.

        Raises:
            RequestError: all attempts fail.
            ProviderError: no attempt can succeed.
        """
        return self.retries.retry(lambda: self._send(method, url, body), until=until)

    def request_json(
        self, method: str, url: httpx.URL, body: bytes = b"", *, until: float
    ) -> tuple[dict[str, Any], Response]:
        """Make a request with retries, and parse its answer as JSON.

        Raises:
            RequestError: all attempts fail.
            ProviderError: no attempt can succeed.
        """

        def once() -> tuple[dict[str, Any], Response]:
            reply = self._send(method, url, body)
            answer = parse_object(reply.content)
            if answer is None:
                raise RequestError(FailureKind.INVALID, "did not answer with JSON")
            return answer, reply

        return self.retries.retry(once, until=until)

    def cleaned(self, text: str) -> str:
        """Return a text of the service for a message: short, on one line, and without the key, which some repeat."""
        return " ".join(text.replace(self._key, "***").split())[:_MAX_MESSAGE_CHARS]

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _send(self, method: str, url: httpx.URL, body: bytes) -> Response:
        headers = self._headers | _JSON if body else self._headers
        reply = self._client.send(Request(method, url, headers, body), until=self._client.clock() + self._seconds)
        if not HTTPStatus.OK <= reply.status < HTTPStatus.MULTIPLE_CHOICES:
            raise self._failure(reply)
        return reply

    def _failure(self, reply: Response) -> RequestError | ProviderError:
        error = object_in(parse_object(reply.content), "error")
        inner = object_in(error, "innererror")
        message = self.cleaned(text_in(inner, "message") or text_in(error, "message"))
        text = f"answered {reply.status}: {message}" if message else f"answered {reply.status}"
        if hint := self._hint(reply.status, error):
            return ProviderError(f"{self.place} {text}", hint=hint)
        if reply.status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
            return self._throttled(reply.headers, error, text)
        is_broken = reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR or reply.status == HTTPStatus.REQUEST_TIMEOUT
        return RequestError(FailureKind.BROKEN if is_broken else FailureKind.REFUSED, text)

    def _hint(self, status: int, error: Mapping[str, Any]) -> str:
        """Return what to change if no request can succeed, else ""."""
        reasons = {text_in(detail, "reason") for detail in items_in(error, "details")}
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN} or any(
            reason.startswith("API_KEY") for reason in reasons
        ):
            return f"check the key: set {self._section}.api_key_file"
        if status == HTTPStatus.NOT_FOUND:
            return f"check {self._section}.model and {self._section}.endpoint"
        if status < HTTPStatus.BAD_REQUEST:
            return f"a redirection is not followed; check {self._section}.endpoint"
        return "check the account" if text_in(error, "status") == "FAILED_PRECONDITION" else ""

    def _throttled(self, headers: Mapping[str, str], error: Mapping[str, Any], text: str) -> RequestError:
        wait = self.retries.requested_wait(headers, error)
        violations = [
            violation for detail in items_in(error, "details") for violation in items_in(detail, "violations")
        ]
        if any("PerDay" in text_in(violation, "quotaId") for violation in violations):
            return RequestError(FailureKind.THROTTLED, f"{text}; the daily quota is used up", retry_after=_DAY)
        if wait is not None and wait > MAX_WAIT_SECONDS:
            text += f"; it asks to wait {wait:.0f} s"
        return RequestError(FailureKind.THROTTLED, text, retry_after=wait)


def _address(endpoint: str, profile: Profile) -> httpx.URL:
    try:
        address = httpx.URL(endpoint)
    except (httpx.InvalidURL, ValueError):
        address = httpx.URL("")
    if address.scheme not in {"http", "https"} or not address.host:
        hint = f"set {profile.section}.endpoint to the address of the service"
        raise ProviderError(f"{profile.name} needs an http or https URL", hint=hint)
    return address.copy_with(username=None, password=None, query=None, fragment=None)


def _checked(key: str, profile: Profile) -> str:
    # The HTTP library would report an invalid header with the key in its message.
    if key and key.isascii() and key.isprintable() and " " not in key:
        return key
    hint = f"set {profile.section}.api_key_file to a file that holds only the key"
    raise ProviderError(f"{profile.name} needs a key of printable ASCII characters", hint=hint)


MAX_BYTES: Final = 8_000_000
"""The longest answer: a page with ten thousand words takes Azure some 3 MB."""

_HEADERS: Final = {"accept": "application/json", "user-agent": "dirindex"}
_JSON: Final = {"content-type": "application/json"}
_MAX_MESSAGE_CHARS: Final = 300
_DAY: Final = 86_400.0
