"""Which addresses of the network documents may be fetched from: public ones, and what an operator allows."""

from __future__ import annotations

import ipaddress
from typing import Final, NamedTuple

from directory_indexer.config.fetching import WEB_PORTS, Allowance

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Destinations(NamedTuple):
    """What may be connected to. With `allow_private` somebody at a terminal takes the responsibility for all of it."""

    allowed: tuple[Allowance, ...] = ()
    allow_private: bool = False

    def may_reach(self, host: str, address: str, port: int) -> bool:
        """Tell whether an address that a name leads to may be connected to."""
        if self.allow_private or (port in WEB_PORTS and is_public(address)):
            return True
        found = _plain(_parsed(address))
        return any(one.covers_port(port) and _covers(one, host, found) for one in self.allowed)


def is_public(address: str) -> bool:
    """Tell whether an address is one of the internet, and leads to no other network by way of a gateway."""
    found = _parsed(address)
    if isinstance(found, ipaddress.IPv4Address):
        return found.is_global and not found.is_multicast and found not in _RELAYS
    if carried := _carried(found):
        return is_public(str(carried))
    return found in _INTERNET and found.is_global and not any(found in network for network in _NOBODYS)


def _covers(allowance: Allowance, host: str, address: _Address) -> bool:
    if allowance.network is not None:
        return address in allowance.network
    # A name that is allowed may come to lead to this machine, or to what tells a cloud machine its secrets.
    is_nearer = address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast
    return allowance.covers_host(host) and not is_nearer


def _parsed(address: str) -> _Address:
    return ipaddress.ip_address(address.partition("%")[0])


def _plain(address: _Address) -> _Address:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Give the older address that a gateway goes on to (NAT64, 6to4, ISATAP)."""
    if address in _NAT64 or (int(address) >> 32) & _NOT_GLOBAL_BIT == _ISATAP:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP: Final = 0x5EFE
_NOT_GLOBAL_BIT: Final = 0xFDFFFFFF
_RELAYS: Final = ipaddress.IPv4Network("192.88.99.0/24")
_NOBODYS: Final = (ipaddress.IPv6Network("2001::/32"), ipaddress.IPv6Network("3fff::/20"))
"""Teredo, which carries addresses of other networks, and examples of documentation."""

_INTERNET: Final = ipaddress.IPv6Network("2000::/3")
"""All that was ever given out of the newer addresses."""
