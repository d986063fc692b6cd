"""Fetching of one document from the web: http and https only, and no private networks unless allowed.

URLs are parsed strictly, so that no two parsers can disagree on the host. Each redirect is checked like the first URL.
Content is decompressed incrementally within a size limit; declared lengths and types are not trusted.

A host name is resolved once, and the checked addresses are connected to, so a second lookup with another result (DNS
rebinding) is impossible. All network waits of a document share one deadline.
"""

from __future__ import annotations

import ipaddress
import mimetypes
import posixpath
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

import httpcore
import httpx

from directory_indexer.core.errors import UnavailableError, UsageError
from directory_indexer.http_client import FailureKind, RequestError
from directory_indexer.http_client.client import Client, Request, Response
from directory_indexer.integrations.converting.destinations import Destinations, Lookup, addresses_of, checked_addresses

_SCHEMES: Final = frozenset({"http", "https"})
_FORBIDDEN: Final = re.compile(r"[\x00-\x1f\x7f\\]")
_NUMBER: Final = r"(?:0[xX][0-9a-fA-F]*|\d+)"
_NUMBERS: Final = re.compile(rf"{_NUMBER}(?:\.{_NUMBER})*\.?")
_LAST_PORT: Final = 65_535
_MAX_MESSAGE_CHARS: Final = 200
_ADDRESS_HINT: Final = "write https://host/path"


def address_of(url: str, before: httpx.URL | None = None) -> httpx.URL:
    """Parse a URL; the URL of a redirect may be relative to `before`.

    Raises:
        UsageError: it is no http or https URL, contains a user name, or is ambiguous.
    """
    try:
        address = before.join(url) if before else httpx.URL(url)
        is_clear = not _FORBIDDEN.search(url) and _is_same_host(url, address)
    except (httpx.InvalidURL, ValueError) as error:
        raise UsageError(f"{url[:_MAX_MESSAGE_CHARS]!r} is not a URL", hint=_ADDRESS_HINT) from error
    if address.userinfo:
        raise UsageError("URLs with a user name or password are not fetched", hint=_ADDRESS_HINT)
    if not is_clear or address.scheme not in _SCHEMES or not address.host or (address.port or 0) > _LAST_PORT:
        raise UsageError(f"{url[:_MAX_MESSAGE_CHARS]!r} is not an http or https URL", hint=_ADDRESS_HINT)
    return address


def display_url(address: httpx.URL) -> str:
    """Format a URL for a message, without the query, which may contain a secret."""
    return str(address.copy_with(query=None, fragment=None))[:_MAX_MESSAGE_CHARS]


def _is_same_host(url: str, address: httpx.URL) -> bool:
    """Whether another parser yields the same host, and a numeric host is in canonical form."""
    host = address.raw_host.decode("ascii")
    other = urlsplit(url).hostname
    if other and other.isascii() and other != host.lower():
        return False
    return not _NUMBERS.fullmatch(host) or _is_four_numbers(host)


def _is_four_numbers(host: str) -> bool:
    try:
        return str(ipaddress.IPv4Address(host)) == host
    except ValueError:
        return False


MAX_BYTES: Final = 50_000_000
MAX_SECONDS: Final = 60.0
MAX_REDIRECTS: Final = 5

_REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
_NOT_MODIFIED: Final = 304
_FIRST_ERROR_STATUS: Final = 400
_HINT: Final = "check the address"
_PUBLIC: Final = Destinations()
_MEDIA_TYPES: Final = frozenset({"application", "image", "message", "text"})
"""Top-level media types of documents; others are not read."""

_NAMES: Final = {"text/html": ".html", "application/xhtml+xml": ".html", "text/markdown": ".md", "text/plain": ".txt"}
_HEADERS: Final = {"accept": "*/*", "accept-encoding": "gzip", "user-agent": "dirindex"}
_TIMEOUTS: Final = {"connect": 10.0, "read": 10.0, "write": 10.0}
_PIECE_BYTES: Final = 1 << 20


class FetchedContent(NamedTuple):
    """A document from the web, a file name that matches its type, and its cache validators."""

    url: str
    name: str
    content: bytes
    media_type: str = ""
    etag: str = ""
    last_modified: str = ""


class Validators(NamedTuple):
    """Cache validators of a document; empty if the server sends none."""

    etag: str = ""
    last_modified: str = ""

    def headers(self) -> dict[str, str]:
        """Return the headers of a conditional request."""
        conditions = {"if-none-match": self.etag, "if-modified-since": self.last_modified}
        return {name: value for name, value in conditions.items() if value}


Fetch = Callable[[str, Validators], FetchedContent | None]
"""Fetches a document, or returns None if it is unchanged."""

_MAX_HEADER_CHARS: Final = 200


def fetch(url: str, *, destinations: Destinations = _PUBLIC, look_up: Lookup = addresses_of) -> FetchedContent:
    """Fetch a document.

    Raises:
        UsageError: the URL is not http or https, or leads into a private network.
        UnavailableError: the server cannot be reached, answers with an error, or sends too much or too slowly.
    """
    fetched = fetch_changed(url, Validators(), destinations=destinations, look_up=look_up)
    if fetched is None:
        raise UnavailableError(
            f"{display_url(address_of(url))}: the server answers 'not modified' to an unconditional request",
            hint=_HINT,
        )
    return fetched


def fetch_changed(
    url: str, known: Validators, *, destinations: Destinations = _PUBLIC, look_up: Lookup = addresses_of
) -> FetchedContent | None:
    """Fetch a document, or return None if it matches the validators.

    Raises:
        UsageError: the URL is not http or https, or leads into a private network.
        UnavailableError: the server cannot be reached, answers with an error, or sends too much or too slowly.
    """
    address = address_of(url)
    until = time.monotonic() + MAX_SECONDS
    allowed = partial(checked_addresses, destinations=destinations, look_up=look_up)
    with Client(max_bytes=MAX_BYTES, addresses=allowed, timeouts=_TIMEOUTS) as client:
        for _ in range(MAX_REDIRECTS + 1):
            response = _request(client, address, known, until)
            if response.status == _NOT_MODIFIED:
                return None
            if response.status not in _REDIRECT_STATUSES:
                return _fetched(address, response)
            address = address_of(response.headers.get("location", ""), address)
    raise UnavailableError(f"{display_url(address)}: more than {MAX_REDIRECTS} redirections", hint=_HINT)


def _fetched(address: httpx.URL, response: Response) -> FetchedContent:
    headers = response.headers
    return FetchedContent(
        str(address),
        _name_of(address, headers),
        response.content,
        headers.get("content-type", "")[:_MAX_HEADER_CHARS],
        headers.get("etag", "")[:_MAX_HEADER_CHARS],
        headers.get("last-modified", "")[:_MAX_HEADER_CHARS],
    )


def _request(client: Client, address: httpx.URL, known: Validators, until: float) -> Response:
    def wants_body(status: int, headers: Mapping[str, str]) -> bool:
        if status in _REDIRECT_STATUSES or status == _NOT_MODIFIED:
            return False
        _require_document(status, headers, address)
        return True

    def unpack(pieces: Iterable[bytes], headers: Mapping[str, str]) -> Iterator[bytes]:
        return _unpacked(_bounded(pieces, address), headers.get("content-encoding", ""))

    request = Request("GET", address, _HEADERS | known.headers())
    try:
        return client.send(request, until=until, wants_body=wants_body, unpack=unpack)
    except RequestError as error:
        raise _unavailable(error, address) from error
    except zlib.error as error:
        raise UnavailableError(f"{display_url(address)}: {type(error).__name__}", hint=_HINT) from error


def _unavailable(error: RequestError, address: httpx.URL) -> UnavailableError:
    match error.kind, error.__cause__:
        case FailureKind.INVALID, _:
            return _too_large(address)
        case (FailureKind.SLOW, _) | (_, httpcore.ConnectTimeout()):
            return UnavailableError(f"{display_url(address)}: the server takes too long", hint="try again later")
        case _, cause:
            return UnavailableError(f"{display_url(address)}: {type(cause).__name__}", hint=_HINT)


def _too_large(address: httpx.URL) -> UnavailableError:
    message = f"{display_url(address)}: more than {MAX_BYTES // 1_000_000} MB"
    return UnavailableError(message, hint="download it, and convert the file")


def _unpacked(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield the decompressed content in pieces of bounded size."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        yield from pieces
        return
    if encoding not in ("gzip", "x-gzip"):
        raise UnavailableError(
            f"the server compresses its response with {encoding[:_MAX_HEADER_CHARS]!r}",
            hint="download it, and convert the file",
        )
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    for piece in pieces:
        rest = piece
        while rest:
            yield stream.decompress(rest, _PIECE_BYTES)
            rest = stream.unconsumed_tail
        if stream.eof:  # trailing data would accumulate
            return
    raise zlib.error("what is packed has no end")


def _require_document(status: int, headers: Mapping[str, str], address: httpx.URL) -> None:
    if status >= _FIRST_ERROR_STATUS:
        raise UnavailableError(f"{display_url(address)}: the server answers {status}", hint=_HINT)
    media_type = headers.get("content-type", "").strip().lower()
    if media_type and media_type.partition("/")[0] not in _MEDIA_TYPES:
        raise UsageError(
            f"{display_url(address)} is {media_type[:_MAX_HEADER_CHARS]!r}, which is not a document", hint=_HINT
        )


def _bounded(pieces: Iterable[bytes], address: httpx.URL) -> Iterator[bytes]:
    n_bytes = 0
    for piece in pieces:
        n_bytes += len(piece)
        if n_bytes > MAX_BYTES:
            raise _too_large(address)
        yield piece


def _name_of(address: httpx.URL, headers: Mapping[str, str]) -> str:
    """Return a file name for the document, with a suffix that matches its media type."""
    name = posixpath.basename(unquote(address.path)) or "index"
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    suffix = _NAMES.get(media_type) or mimetypes.guess_extension(media_type) or ""
    is_named = posixpath.splitext(name)[1] and (media_type not in _NAMES or mimetypes.guess_type(name)[0] == media_type)
    return name if not suffix or is_named else name + suffix
