"""Fetching of one document from the web: http and https only, and no private networks unless allowed.

Each redirect is checked like the first URL. Content is decompressed incrementally within a size limit; declared lengths
and types are not trusted.

A host name is resolved once, and the checked addresses are connected to, so a second lookup with another result (DNS
rebinding) is impossible. All network waits share one deadline, however slowly a server sends.
"""

from __future__ import annotations

import mimetypes
import posixpath
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import httpcore
import httpx

from directory_indexer.core.errors import UnavailableError, UsageError
from directory_indexer.integrations.converting.addresses import address_of, display_url
from directory_indexer.integrations.converting.destinations import Destinations, IpNetwork, is_public, own_networks

Lookup = Callable[[str, int], list[str]]

_ALLOW: Final = "name it in fetching.allowed of the configuration, or at a terminal add --allow-private"
_STEP_SECONDS: Final = 10.0


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


class FetchedContent(NamedTuple):
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


Fetch = Callable[[str, Validators], FetchedContent | None]
"""Fetches a document, or returns None if it is unchanged."""

_MAX_HEADER_CHARS: Final = 200


def addresses_of(host: str, port: int) -> list[str]:
    """Resolve a host name.

    Raises:
        OSError: it leads nowhere.
    """
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


class Network(httpcore.NetworkBackend):
    """Connects to allowed destinations, until a deadline of the monotonic clock."""

    def __init__(
        self,
        *,
        deadline: float,
        destinations: Destinations,
        look_up: Lookup = addresses_of,
        own_networks: Callable[[], Sequence[IpNetwork]] = own_networks,
        step_seconds: float = _STEP_SECONDS,
    ) -> None:
        self._deadline = deadline
        self._step_seconds = step_seconds
        self._destinations = destinations
        self._look_up = look_up
        self._own_networks = own_networks
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - `seconds` decides
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of a host that accepts the connection.

        Raises:
            UsageError: the name leads into a private network, or the port is none of the web.
            UnavailableError: it leads nowhere.
        """
        *others, last = self._addresses(host, port)
        for address in others:
            try:
                return self._connect(address, port, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._connect(last, port, local_address, socket_options)

    def seconds(self) -> float:
        """Return the timeout of the next step.

        Raises:
            ReadTimeout: the time is over.
        """
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise httpcore.ReadTimeout
        return min(remaining, self._step_seconds)

    def _addresses(self, host: str, port: int) -> list[str]:
        try:
            addresses = self._look_up(host, port)
        except (OSError, UnicodeError) as error:
            raise UnavailableError(f"{host} cannot be found", hint="check the address and the network") from error
        if not addresses:
            raise UnavailableError(f"{host} has no address", hint="check the address")
        own = () if self._destinations.allow_private else self._own_networks()
        if not all(self._destinations.may_reach(host, address, port, own=own) for address in addresses):
            # The address is not named: clients of a server could map the network behind it.
            is_private = not all(is_public(address, own) for address in addresses)
            where = (
                "leads into a private network" if is_private else f"is asked at port {port}, which is none of the web"
            )
            raise UsageError(f"{host} {where}", hint=_ALLOW)
        return addresses

    def _connect(
        self, address: str, port: int, local_address: str | None, socket_options: Iterable[Any] | None
    ) -> httpcore.NetworkStream:
        seconds = min(self.seconds(), _STEP_SECONDS)
        return _Stream(self._inner.connect_tcp(address, port, seconds, local_address, socket_options), self)


def fetch(url: str, *, destinations: Destinations = _PUBLIC, look_up: Lookup = addresses_of) -> FetchedContent:
    """Fetch a document.

    Raises:
        UsageError: the address is none of http or https, or leads into a private network.
        UnavailableError: the server cannot be reached, answers with an error, or sends too much or too slowly.
    """
    fetched = fetch_changed(url, Validators(), destinations=destinations, look_up=look_up)
    if fetched is None:
        raise UnavailableError(
            f"{display_url(address_of(url))}: the server says that nothing has changed, and was not asked", hint=_CHECK
        )
    return fetched


def fetch_changed(
    url: str, known: Validators, *, destinations: Destinations = _PUBLIC, look_up: Lookup = addresses_of
) -> FetchedContent | None:
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
    raise UnavailableError(f"{display_url(address)}: more than {MAX_REDIRECTIONS} redirections", hint=_CHECK)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, network: Network) -> None:
        self._inner = inner
        self._network = network

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._inner.read(max_bytes, self._network.seconds())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._inner.write(buffer, self._network.seconds())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, self._network.seconds()), self._network)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes
    """Empty if the status has no body to read."""


def _fetched(address: httpx.URL, response: _Response) -> FetchedContent:
    headers = response.headers
    return FetchedContent(
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
        raise UnavailableError(f"{display_url(address)}: the server takes too long", hint="try again later") from error
    except (httpcore.NetworkError, httpcore.ProtocolError, zlib.error) as error:
        raise UnavailableError(f"{display_url(address)}: {type(error).__name__}", hint=_CHECK) from error


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
        raise UnavailableError(f"{display_url(address)}: the server answers {status}", hint=_CHECK)
    media_type = headers.get("content-type", "").strip().lower()
    if media_type and media_type.partition("/")[0] not in _TYPES:
        raise UsageError(
            f"{display_url(address)} is {media_type[:_MAX_HEADER_CHARS]!r}, which is not a document", hint=_CHECK
        )


def _bounded(pieces: Iterable[bytes], address: httpx.URL) -> Iterator[bytes]:
    n_bytes = 0
    for piece in pieces:
        n_bytes += len(piece)
        if n_bytes > MAX_BYTES:
            raise UnavailableError(
                f"{display_url(address)}: more than {MAX_BYTES // 1_000_000} MB",
                hint="download it, and convert the file",
            )
        yield piece


def _name_of(address: httpx.URL, headers: Mapping[str, str]) -> str:
    """Return a file name for the document, with a suffix that matches its media type."""
    name = posixpath.basename(unquote(address.path)) or "index"
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    suffix = _NAMES.get(media_type) or mimetypes.guess_extension(media_type) or ""
    is_named = posixpath.splitext(name)[1] and (media_type not in _NAMES or mimetypes.guess_type(name)[0] == media_type)
    return name if not suffix or is_named else name + suffix
