"""Network addresses that documents may be fetched from: public ones, and those that an operator allows.

Addresses of this machine, of local networks and of cloud-internal services are not public.

The table holds the rows of the IANA special-purpose address registries (iana-ipv4-special-registry and
iana-ipv6-special-registry), including globally reachable ones: those are anycast services and relays, not documents.
Added are multicast and reserved addresses (ipv4-address-space) and, by the documentation of cloud providers, their
instance services. `is_global` of the standard library differs between versions of Python.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from directory_indexer.config.services import WEB_PORTS, HostRule
from directory_indexer.core.errors import UnavailableError, UsageError

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Lookup: TypeAlias = Callable[[str, int], list[str]]

_ALLOW: Final = "name it in fetching.allowed of the configuration, or at a terminal add --allow-private"

_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
"""The IPv6 range that is assigned: no loopback, link-local, unique local or multicast addresses."""

_6TO4: Final = ipaddress.IPv6Network("2002::/16")
_ISATAP: Final = 0x5EFE
_NOT_GLOBAL_BIT: Final = 0xFDFFFFFF

_LEAF: Final = re.compile(r"\|-- ([\d.]+)((?:\n +/[^\n]*)+)")
_ON_LINK: Final = re.compile(r"/(\d+) (?:link|host) (?:UNICAST|LOCAL)")
_INTERFACE: Final = re.compile(r"^([0-9a-f]{32}) [0-9a-f]+ ([0-9a-f]+) ", re.MULTILINE)
_WIDEST_BITS: Final = 8
"""A wider network is not a link but a tunnel, such as 0.0.0.0/1 of a VPN: half of the internet."""

_WIDEST_IPV6_BITS: Final = 32
_BITS_OF_LINK: Final = 64


class Destinations(NamedTuple):
    """Allowed destinations. With `allow_private` a user at a terminal accepts all of them."""

    allowed: tuple[HostRule, ...] = ()
    allow_private: bool = False

    def may_reach(self, host: str, address: str, port: int, *, own: Sequence[IpNetwork] = ()) -> bool:
        """Whether a resolved address may be connected to; addresses in `own` networks are not public."""
        if self.allow_private or (port in WEB_PORTS and is_public(address, own)):
            return True
        plain = _without_mapping(parse_ip_address(address))
        return any(rule.covers_port(port) and _covers(rule, host, plain) for rule in self.allowed)


def is_public(address: str, own: Sequence[IpNetwork] = ()) -> bool:
    """Whether an address is on the public internet, outside `own` networks, and does not lead into another network.

    An IPv4 address embedded in an IPv6 one (NAT64, 6to4, ISATAP) is checked, too.
    """
    return all(_is_of_internet(part, own) for part in _parts(parse_ip_address(address)))


def is_cloud_service(address: IpAddress) -> bool:
    """Whether an address is that of a cloud's instance service, such as its metadata service."""
    return any(address in network for network in _CLOUD_SERVICES)


def parse_ip_address(address: str) -> IpAddress:
    """Parse an address, with or without its interface (zone)."""
    return ipaddress.ip_address(address.partition("%")[0])


def addresses_of(host: str, port: int) -> list[str]:
    """Resolve a host name.

    Raises:
        OSError: it leads nowhere.
    """
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


def checked_addresses(
    host: str, port: int, *, destinations: Destinations, look_up: Lookup, own: Sequence[IpNetwork] | None = None
) -> list[str]:
    """Resolve a host name to allowed addresses.

    Raises:
        UsageError: the name leads into a private network, or the port is no web port.
        UnavailableError: it leads nowhere.
    """
    try:
        addresses = look_up(host, port)
    except (OSError, UnicodeError) as error:
        raise UnavailableError(f"{host} cannot be found", hint="check the address and the network") from error
    if not addresses:
        raise UnavailableError(f"{host} has no IP address", hint="check the address")
    if own is None:
        own = () if destinations.allow_private else own_networks()
    if not all(destinations.may_reach(host, address, port, own=own) for address in addresses):
        # The address is not named: clients of a server could map the network behind it.
        is_private = not all(is_public(address, own) for address in addresses)
        where = "leads into a private network" if is_private else f"is asked at port {port}, which is none of the web"
        raise UsageError(f"{host} {where}", hint=_ALLOW)
    return addresses


def own_networks() -> tuple[IpNetwork, ...]:
    """Return the addresses of this machine and the networks of its interfaces, as far as the system reports them.

    Addresses that a router or a cloud maps to this machine are not known here.
    """
    own = networks_in(_text("/proc/net/fib_trie"), _text("/proc/net/if_inet6"))
    return own or tuple(_networks_by_sockets())


def networks_in(fib_trie: str, if_inet6: str) -> tuple[IpNetwork, ...]:
    """Return the networks of interfaces from two files of Linux, without default routes such as those of a VPN."""
    networks: dict[IpNetwork, None] = {}
    for address, lines in _LEAF.findall(fib_trie):
        for bits in _ON_LINK.findall(lines):
            if int(bits) >= _WIDEST_BITS:
                networks[ipaddress.IPv4Network((address, int(bits)), strict=False)] = None
    for digits, bits in _INTERFACE.findall(if_inet6):
        network = ipaddress.IPv6Network((int(digits, 16), max(int(bits, 16), _WIDEST_IPV6_BITS)), strict=False)
        networks[network] = None
    return tuple(networks)


def _covers(rule: HostRule, host: str, address: IpAddress) -> bool:
    if rule.network is not None:
        return address in rule.network
    # An allowed name may later resolve to this machine, or to a cloud metadata service.
    is_nearer = address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast
    return rule.covers_host(host) and not is_nearer and not is_cloud_service(address)


def _without_mapping(address: IpAddress) -> IpAddress:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _is_of_internet(address: IpAddress, own: Sequence[IpNetwork]) -> bool:
    is_assigned = address.version == 4 or address in _GLOBAL_UNICAST  # noqa: PLR2004 - IPv4
    return is_assigned and not any(address in network for network in (*_SPECIAL, *_CLOUD_SERVICES, *own))


def _parts(address: IpAddress) -> tuple[IpAddress, ...]:
    """Return an address and those embedded in it, all of which have to be public."""
    if isinstance(address, ipaddress.IPv4Address):
        return (address,)
    number = int(address)
    last = ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if any(address in network for network in _WRAPPERS):
        return (last,)
    relayed = (ipaddress.IPv4Address(number >> 80 & 0xFFFFFFFF),) if address in _6TO4 else ()
    is_isatap = number >> 32 & _NOT_GLOBAL_BIT == _ISATAP
    return (address, *relayed, *((last,) if is_isatap else ()))


def _text(path: str) -> str:
    try:
        return Path(path).read_text("ascii", "replace")
    except OSError:
        return ""


def _networks_by_sockets() -> Iterator[IpNetwork]:
    """Yield the networks of the host name's addresses, and of those that packets would be sent from."""
    addresses = []
    with contextlib.suppress(OSError, UnicodeError):
        addresses += [str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)]
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as datagrams:
            datagrams.connect((elsewhere, 9))  # selects a route without sending anything
            addresses.append(str(datagrams.getsockname()[0]))
    for address in map(parse_ip_address, addresses):
        bits = _BITS_OF_LINK if address.version == 6 else address.max_prefixlen  # noqa: PLR2004
        yield ipaddress.ip_network((int(address), bits), strict=False)


def _networks(*written: str) -> tuple[IpNetwork, ...]:
    return tuple(map(ipaddress.ip_network, written))


_SPECIAL: Final = _networks(
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",  # private
    "100.64.0.0/10",  # shared by the customers of a provider
    "127.0.0.0/8",  # loopback
    "169.254.0.0/16",  # link-local
    "161.26.0.0/16",  # IBM Cloud, services for its own network
    "166.8.0.0/14",  # IBM Cloud, services for its own network
    "172.16.0.0/12",  # private
    "192.0.0.0/24",  # IETF protocol assignments
    "192.0.2.0/24",  # documentation
    "192.31.196.0/24",  # AS112
    "192.52.193.0/24",  # relays of multicast (AMT)
    "192.88.99.0/24",  # relays of 6to4
    "192.168.0.0/16",  # private
    "192.175.48.0/24",  # AS112
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "199.36.153.4/30",  # Google Cloud, its APIs for its own network
    "199.36.153.8/30",
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, and broadcast
    "2001::/23",  # IETF protocol assignments: Teredo, benchmarks, ORCHID, AMT, AS112
    "2001:db8::/32",  # documentation
    "2600:2d00:2:1000::/64",  # Google Cloud, its APIs for its own network
    "2600:2d00:2:2000::/64",
    "2620:4f:8000::/48",  # AS112
    "3fff::/20",  # documentation
)
_CLOUD_SERVICES: Final = _networks(
    "100.100.100.200",  # Alibaba Cloud
    "168.63.129.16",  # Azure
    "192.0.0.192",  # Oracle Cloud Classic
    "fd00:42::42",  # Scaleway
    "fd00:c1::a9fe:a9fe",  # Oracle Cloud
    "fd00:ec2::/32",  # Amazon
    "fd20:ce::254",  # Google Cloud
)
_WRAPPERS: Final = _networks("::ffff:0:0/96", "64:ff9b::/96")
"""IPv4-mapped and NAT64 addresses, which are nothing but another form of an IPv4 address."""
