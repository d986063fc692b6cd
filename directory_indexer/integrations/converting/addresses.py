"""Strict parsing of URLs, so that no two parsers can disagree on the host."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

import httpx

from directory_indexer.core.errors import UsageError

_SCHEMES: Final = frozenset({"http", "https"})
_FORBIDDEN: Final = re.compile(r"[\x00-\x1f\x7f\\]")
_NUMBER: Final = r"(?:0[xX][0-9a-fA-F]*|\d+)"
_NUMBERS: Final = re.compile(rf"{_NUMBER}(?:\.{_NUMBER})*\.?")
_LAST_PORT: Final = 65_535
_MAX_MESSAGE_CHARS: Final = 200
_HINT: Final = "write https://host/path"


def address_of(url: str, before: httpx.URL | None = None) -> httpx.URL:
    """Parse a URL; the URL of a redirect may be relative to `before`.

    Raises:
        UsageError: it is no http or https URL, contains a user name, or is ambiguous.
    """
    try:
        address = before.join(url) if before else httpx.URL(url)
        is_clear = not _FORBIDDEN.search(url) and _is_same_host(url, address)
    except (httpx.InvalidURL, ValueError) as error:
        raise UsageError(f"{url[:_MAX_MESSAGE_CHARS]!r} is not a URL", hint=_HINT) from error
    if address.userinfo:
        raise UsageError("URLs with a user name or password are not fetched", hint=_HINT)
    if not is_clear or address.scheme not in _SCHEMES or not address.host or (address.port or 0) > _LAST_PORT:
        raise UsageError(f"{url[:_MAX_MESSAGE_CHARS]!r} is not an http or https URL", hint=_HINT)
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
