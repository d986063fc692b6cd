"""Address of a remote index; a token is never sent over an unencrypted network connection by mistake."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

from directory_indexer.errors import UsageError
from directory_indexer.lazy import lazily

with lazily:
    import httpx

    from directory_indexer.converting.addresses import address_of, shown

_LOCAL_NAME = "localhost"


class RemoteAddress(NamedTuple):
    """The base URL of an index server."""

    url: httpx.URL
    is_local: bool
    """Whether the host as written is the loopback interface."""

    @property
    def display_url(self) -> str:
        """The URL as messages show it."""
        return shown(self.url)

    def target(self, path: str, query: str = "") -> bytes:
        """Return the request target: a path of the API below the path of the server."""
        return self.url.raw_path.rstrip(b"/") + path.encode("ascii") + (f"?{query}".encode("ascii") if query else b"")


def remote_address(written: str, *, allow_http: bool = False) -> RemoteAddress:
    """Parse the address of a server.

    Raises:
        UsageError: the address is invalid, or it is unencrypted HTTP to another machine without `allow_http`.
    """
    url = address_of(written)
    if url.query or url.fragment or "?" in written or "#" in written:
        raise UsageError(f"{shown(url)} is asked with more than a path", hint="write --remote https://host")
    is_local = _is_loopback(url.host)
    if url.scheme == "http" and not is_local and not allow_http:
        raise UsageError(
            f"{shown(url)} is not encrypted: everybody on the way could read the token and the documents",
            hint="write https://; or --allow-http, if the network is trusted",
        )
    return RemoteAddress(url, is_local)


def is_loopback_address(address: str) -> bool:
    """Whether a numeric IP address is a loopback address."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _is_loopback(host: str) -> bool:
    if host.lower().rstrip(".") == _LOCAL_NAME:
        return True
    try:
        return is_loopback_address(host)
    except ValueError:
        return False
