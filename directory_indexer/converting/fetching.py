"""Fetching of one document from the web: http and https only, and no private networks unless allowed.

Each redirect is checked like the first URL. Content is decompressed incrementally within a size limit; declared lengths
and types are not trusted.
"""

from __future__ import annotations

import mimetypes
import posixpath
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote

import httpcore
import httpx

from directory_indexer.converting.addresses import address_of, shown
from directory_indexer.converting.destinations import Destinations
from directory_indexer.converting.network import Lookup, Network, addresses_of
from directory_indexer.errors import UnavailableError, UsageError

MAX_BYTES: Final = 50_000_000
MAX_SECONDS: Final = 60.0
MAX_REDIRECTIONS: Final = 5

_REDIRECTIONS: Final = frozenset({301, 302, 303, 307, 308})
_NOT_MODIFIED: Final = 304
_ERRORS: Final = 400
_CHECK: Final = "check the address"
_PUBLIC: Final = Destinations()
_TYPES: Final = frozenset({"application", "image", "message", "text"})
"""Top-level media types of documents; others are not read."""

_NAMES: Final = {"text/html": ".html", "application/xhtml+xml": ".html", "text/markdown": ".md", "text/plain": ".txt"}
_HEADERS: Final = ((b"accept", b"*/*"), (b"accept-encoding", b"gzip"), (b"user-agent", b"dirindex"))
_PIECE_BYTES: Final = 1 << 20


class Fetched(NamedTuple):
    """A document from the web, and a file name that matches its type. `etag` and `last_modified` are its validators.

    `etag` and `last_modified` are what its server knows this state of it by.
    """

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

    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Return the headers of a conditional request."""
        conditions = ((b"if-none-match", self.etag), (b"if-modified-since", self.last_modified))
        return tuple((name, value.encode("latin-1", "replace")) for name, value in conditions if value)


Fetch = Callable[[str, Validators], Fetched | None]
"""Fetches a document, or returns None if it is unchanged."""


class _Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes
    """Empty if the status has no body to read."""


def fetch(url: str, *, destinations: Destinations = _PUBLIC, look_up: Lookup = addresses_of) -> Fetched:
    """Fetch a document.

    Raises:
        UsageError: the address is none of http or https, or leads into a private network.
        UnavailableError: the server cannot be reached, answers with an error, or sends too much or too slowly.
    """
    fetched = fetch_changed(url, Validators(), destinations=destinations, look_up=look_up)
    if fetched is None:
        raise UnavailableError(
            f"{shown(address_of(url))}: the server says that nothing has changed, and was not asked", hint=_CHECK
        )
    return fetched


def fetch_changed(
    url: str, known: Validators, *, destinations: Destinations = _PUBLIC, look_up: Lookup = addresses_of
) -> Fetched | None:
    """Fetch a document, or return None if it matches the validators.

    Raises:
        UsageError: the address is none of http or https, or leads into a private network.
        UnavailableError: the server cannot be reached, answers with an error, or sends too much or too slowly.
    """
    network = Network(deadline=time.monotonic() + MAX_SECONDS, destinations=destinations, look_up=look_up)
    address = address_of(url)
    with httpcore.ConnectionPool(network_backend=network) as connections:
        for _ in range(MAX_REDIRECTIONS + 1):
            response = _request(address, connections, known)
            if response.status == _NOT_MODIFIED:
                return None
            if response.status not in _REDIRECTIONS:
                return _fetched(address, response)
            address = address_of(response.headers.get("location", ""), address)
    raise UnavailableError(f"{shown(address)}: more than {MAX_REDIRECTIONS} redirections", hint=_CHECK)


def _fetched(address: httpx.URL, response: _Response) -> Fetched:
    headers = response.headers
    return Fetched(
        str(address),
        _name_of(address, headers),
        response.content,
        headers.get("content-type", "")[:_MAX_HEADER_CHARS],
        headers.get("etag", "")[:_MAX_HEADER_CHARS],
        headers.get("last-modified", "")[:_MAX_HEADER_CHARS],
    )


def _request(address: httpx.URL, connections: httpcore.ConnectionPool, known: Validators) -> _Response:
    url = httpcore.URL(scheme=address.raw_scheme, host=address.raw_host, port=address.port, target=address.raw_path)
    try:
        with connections.stream("GET", url, headers=(*_HEADERS, *known.headers())) as response:
            headers = _headers(response.headers)
            content = b""
            if response.status not in {*_REDIRECTIONS, _NOT_MODIFIED}:
                _require_document(response.status, headers, address)
                sent = _bounded(response.iter_stream(), address)
                unpacked = _unpacked(sent, headers.get("content-encoding", ""))
                content = b"".join(_bounded(unpacked, address))
            return _Response(response.status, headers, content)
    except httpcore.TimeoutException as error:
        raise UnavailableError(f"{shown(address)}: the server takes too long", hint="try again later") from error
    except (httpcore.NetworkError, httpcore.ProtocolError, zlib.error) as error:
        raise UnavailableError(f"{shown(address)}: {type(error).__name__}", hint=_CHECK) from error


def _unpacked(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield the decompressed content in pieces of bounded size."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        yield from pieces
        return
    if encoding not in ("gzip", "x-gzip"):
        raise UnavailableError(
            f"the server sends what is packed as {encoding[:_MAX_HEADER_CHARS]!r}",
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


def _headers(sent: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Decode headers; repeated ones are joined as a list."""
    headers: dict[str, str] = {}
    for name, value in sent:
        key, more = name.decode("latin-1").lower(), value.decode("utf-8", "replace")
        headers[key] = f"{headers[key]}, {more}" if key in headers else more
    return headers


def _require_document(status: int, headers: Mapping[str, str], address: httpx.URL) -> None:
    if status >= _ERRORS:
        raise UnavailableError(f"{shown(address)}: the server answers {status}", hint=_CHECK)
    media_type = headers.get("content-type", "").strip().lower()
    if media_type and media_type.partition("/")[0] not in _TYPES:
        raise UsageError(
            f"{shown(address)} is {media_type[:_MAX_HEADER_CHARS]!r}, which is not a document", hint=_CHECK
        )


def _bounded(pieces: Iterable[bytes], address: httpx.URL) -> Iterator[bytes]:
    n_bytes = 0
    for piece in pieces:
        n_bytes += len(piece)
        if n_bytes > MAX_BYTES:
            raise UnavailableError(
                f"{shown(address)}: more than {MAX_BYTES // 1_000_000} MB", hint="download it, and convert the file"
            )
        yield piece


def _name_of(address: httpx.URL, headers: Mapping[str, str]) -> str:
    """Return a file name for the document, with a suffix that matches its media type."""
    name = posixpath.basename(unquote(address.path)) or "index"
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    suffix = _NAMES.get(media_type) or mimetypes.guess_extension(media_type) or ""
    is_named = posixpath.splitext(name)[1] and (media_type not in _NAMES or mimetypes.guess_type(name)[0] == media_type)
    return name if not suffix or is_named else name + suffix


_MAX_HEADER_CHARS: Final = 200
