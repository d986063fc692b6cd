"""Network addresses that documents may be fetched from: public ones, and those that an operator allows."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import NamedTuple

from directory_indexer.config.fetching import WEB_PORTS, Allowance
from directory_indexer.converting.public_addresses import IpAddress, IpNetwork, is_cloud_service, is_public, parsed


class Destinations(NamedTuple):
    """Allowed destinations. With `allow_private` a user at a terminal accepts all of them."""

    allowed: tuple[Allowance, ...] = ()
    allow_private: bool = False

    def may_reach(self, host: str, address: str, port: int, *, own: Sequence[IpNetwork] = ()) -> bool:
        """Whether a resolved address may be connected to; addresses in `own` networks are not public."""
        if self.allow_private or (port in WEB_PORTS and is_public(address, own)):
            return True
        plain = _unmapped(parsed(address))
        return any(allowance.covers_port(port) and _covers(allowance, host, plain) for allowance in self.allowed)


def _covers(allowance: Allowance, host: str, address: IpAddress) -> bool:
    if allowance.network is not None:
        return address in allowance.network
    # An allowed name may later resolve to this machine, or to a cloud metadata service.
    is_nearer = address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast
    return allowance.covers_host(host) and not is_nearer and not is_cloud_service(address)


def _unmapped(address: IpAddress) -> IpAddress:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
