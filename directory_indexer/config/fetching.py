"""Destinations of fetching beside public addresses on web ports: the keys of `fetching`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from directory_indexer.config.keys import key
from directory_indexer.config.kinds import Kind, Several
from directory_indexer.lazy import lazily

with lazily:
    import ipaddress

WEB_PORTS: Final = frozenset({80, 443})
_LAST_PORT: Final = 65_535
_FORM: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+(?:/\d{1,3})?)\]|(?P<plain>[^\[\]:]+))(?::(?P<port>\d{1,5}))?")
_HOST: Final = re.compile(r"(?:\*\.)?(?=[^.])[\w-]+(?:\.[\w-]+)*")
_NETWORK: Final = re.compile(r"[\d.]+(?:/\d+)?")


class Allowance(NamedTuple):
    """A host name, `*.` and a domain, or a network, with an optional port; without a port, the web ports."""

    host: str
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None
    port: int | None

    def covers_port(self, port: int) -> bool:
        """Whether a port is allowed."""
        return port == self.port if self.port else port in WEB_PORTS

    def covers_host(self, name: str) -> bool:
        """Whether a host name is allowed, whatever it resolves to."""
        name = name.lower().rstrip(".")
        if self.host.startswith("*."):
            return name.endswith(self.host[1:])
        return bool(self.host) and name == self.host


def allowance_of(written: str) -> Allowance:
    """Parse `wiki.example`, `*.example:8443`, `10.1.0.0/16`, `10.1.2.3:8080` or `[fd00::/8]:8080`.

    Raises:
        ValueError: it is none of these.
    """
    match = _FORM.fullmatch(written.strip())
    if match is None or int(match["port"] or 1) not in range(1, _LAST_PORT + 1):
        raise ValueError(written)
    port = int(match["port"]) if match["port"] else None
    if match["six"] or _NETWORK.fullmatch(match["plain"]):
        return Allowance("", ipaddress.ip_network(match["six"] or match["plain"]), port)
    if not _HOST.fullmatch(match["plain"]):
        raise ValueError(written)
    return Allowance(match["plain"].lower(), None, port)


class Destination(Kind):
    """Hosts or a network to fetch documents from."""

    def _mistake(self, value: object) -> str:
        try:
            allowance_of(value if isinstance(value, str) else "")
        except ValueError:
            return "must be a host, *.DOMAIN, an address or a network such as 10.1.0.0/16, each with :PORT or without"
        return ""


class FetchingConfig(NamedTuple):
    """Where documents may be fetched from."""

    allowed: tuple[str, ...] = key(
        Several(Destination(), of="hosts and networks"),
        "intranet hosts, as wiki.example or *.example:8443, and networks, as 10.1.0.0/16, beside public addresses",
        default=(),
    )
