"""Fetches one document from the web: http and https alone, nothing of a private network unless that is allowed.

Each redirection is checked like the first address. Nothing is unpacked that was not asked for, and nothing at once:
what a server says of lengths and kinds is not believed.
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
"""What begins the types of documents; others are not even read."""

_NAMES: Final = {"text/html": ".html", "application/xhtml+xml": ".html", "text/markdown": ".md", "text/plain": ".txt"}
_HEADERS: Final = ((b"accept", b"*/*"), (b"accept-encoding", b"gzip"), (b"user-agent", b"dirindex"))
_PIECE_BYTES: Final = 1 << 20


class Fetched(NamedTuple):
    """A document from the web, and the name of a file that fits it.

    `etag` and `last_modified` are what its server knows this state of it by.
    """

    url: str
    name: str
    content: bytes
    media_type: str = ""
    etag: str = ""
    last_modified: str = ""


class Validators(NamedTuple):
    """What a server knows a state of a document by; empty where it does not say."""

    etag: str = ""
    last_modified: str = ""

    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Ask for the document only if it is another one now."""
        asked = ((b"if-none-match", self.etag), (b"if-modified-since", self.last_modified))
        return tuple((name, value.encode("latin-1", "replace")) for name, value in asked if value)


Fetch = Callable[[str, Validators], Fetched | None]
"""Fetches a document from an address, unless it is still the one that is known."""


class _Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes
    """Empty where the status says that there is nothing to read."""


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
    """Fetch a document, unless it is still the one that is known.

    Raises:
        UsageError: the address is none of http or https, or leads into a private network.
        UnavailableError: the server cannot be reached, answers with an error, or sends too much or too slowly.
    """
    network = Network(deadline=time.monotonic() + MAX_SECONDS, destinations=destinations, look_up=look_up)
    address = address_of(url)
    with httpcore.ConnectionPool(network_backend=network) as connections:
        for _ in range(MAX_REDIRECTIONS + 1):
            response = _asked(address, connections, known)
            if response.status == _NOT_MODIFIED:
                return None
            if response.status not in _REDIRECTIONS:
                return _fetched(address, response)
            address = address_of(response.headers.get("location", ""), address)
    raise UnavailableError(f"{shown(address)}: more than {MAX_REDIRECTIONS} redirections", hint=_CHECK)


def _fetched(address: httpx.URL, response: _Response) -> Fetched:
    said = response.headers
    return Fetched(
        str(address),
        _name_of(address, said),
        response.content,
        said.get("content-type", "")[:_MOST_SHOWN],
        said.get("etag", "")[:_MOST_SHOWN],
        said.get("last-modified", "")[:_MOST_SHOWN],
    )


def _asked(address: httpx.URL, connections: httpcore.ConnectionPool, known: Validators) -> _Response:
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
    """Undo what was done for the way, in pieces of bounded size."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        yield from pieces
        return
    if encoding not in ("gzip", "x-gzip"):
        raise UnavailableError(
            f"the server sends what is packed as {encoding[:_MOST_SHOWN]!r}", hint="download it, and convert the file"
        )
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    for piece in pieces:
        rest = piece
        while rest:
            yield stream.decompress(rest, _PIECE_BYTES)
            rest = stream.unconsumed_tail
        if stream.eof:  # what comes behind it would be gathered, each time anew
            return
    raise zlib.error("what is packed has no end")


def _headers(sent: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Read headers; what is said several times is a list of all of it."""
    headers: dict[str, str] = {}
    for name, value in sent:
        said, more = name.decode("latin-1").lower(), value.decode("utf-8", "replace")
        headers[said] = f"{headers[said]}, {more}" if said in headers else more
    return headers


def _require_document(status: int, headers: Mapping[str, str], address: httpx.URL) -> None:
    if status >= _ERRORS:
        raise UnavailableError(f"{shown(address)}: the server answers {status}", hint=_CHECK)
    said = headers.get("content-type", "").strip().lower()
    if said and said.partition("/")[0] not in _TYPES:
        raise UsageError(f"{shown(address)} is {said[:_MOST_SHOWN]!r}, which is not a document", hint=_CHECK)


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
    """Name the document as a file, by what the server says that it is."""
    name = posixpath.basename(unquote(address.path)) or "index"
    said = headers.get("content-type", "").partition(";")[0].strip().lower()
    suffix = _NAMES.get(said) or mimetypes.guess_extension(said) or ""
    is_named = posixpath.splitext(name)[1] and (said not in _NAMES or mimetypes.guess_type(name)[0] == said)
    return name if not suffix or is_named else name + suffix


_MOST_SHOWN: Final = 200
