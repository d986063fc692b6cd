"""Which addresses of the network documents may be fetched from: public ones, and what an operator allows."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import NamedTuple

from directory_indexer.config.fetching import WEB_PORTS, Allowance
from directory_indexer.converting.public_addresses import IpAddress, IpNetwork, is_cloud_service, is_public, parsed


class Destinations(NamedTuple):
    """What may be connected to. With `allow_private` somebody at a terminal takes the responsibility for all of it."""

    allowed: tuple[Allowance, ...] = ()
    allow_private: bool = False

    def may_reach(self, host: str, address: str, port: int, *, own: Sequence[IpNetwork] = ()) -> bool:
        """Whether an address that a name leads to may be connected to; it is not public in `own` networks."""
        if self.allow_private or (port in WEB_PORTS and is_public(address, own)):
            return True
        plain = _plain(parsed(address))
        return any(allowance.covers_port(port) and _covers(allowance, host, plain) for allowance in self.allowed)


def _covers(allowance: Allowance, host: str, address: IpAddress) -> bool:
    if allowance.network is not None:
        return address in allowance.network
    # A name that is allowed may come to lead to this machine, or to what tells a cloud machine its secrets.
    is_nearer = address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast
    return allowance.covers_host(host) and not is_nearer and not is_cloud_service(address)


def _plain(address: IpAddress) -> IpAddress:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
