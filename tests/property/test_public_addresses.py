"""No address of a network with a purpose of its own is public, and all others of the internet are."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, collapse_addresses, ip_network
from itertools import pairwise
from typing import Final

from hypothesis import assume, given
from hypothesis import strategies as st

from directory_indexer.integrations.converting.destinations import is_public

SPECIAL: Final = tuple(
    map(
        ip_network,
        """
        0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 161.26.0.0/16 166.8.0.0/14 168.63.129.16/32 169.254.0.0/16
        172.16.0.0/12 192.0.0.0/24 192.0.0.0/29 192.0.0.8/32 192.0.0.170/31 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24
        192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 199.36.153.4/30 199.36.153.8/30
        203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 255.255.255.255/32
        ::/128 ::1/128 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:2::/48 2001:3::/32
        2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32 2600:2d00:2:1000::/64 2600:2d00:2:2000::/64
        2620:4f:8000::/48 3fff::/20 4000::/2 5f00::/16 8000::/1 fc00::/7 fe80::/10 fec0::/10 ff00::/8
        """.split(),
    )
)
"""The rows of the registries, and what else is named in the documentation of clouds."""

_OF_FOUR: Final = sorted(collapse_addresses(network for network in SPECIAL if isinstance(network, IPv4Network)))
_GAPS: Final = [
    (int(before.broadcast_address) + 1, int(behind.network_address) - 1)
    for before, behind in pairwise(_OF_FOUR)
    if int(before.broadcast_address) + 1 < int(behind.network_address)
]
"""From where to where there are others among the addresses of four bytes."""


@st.composite
def special_addresses(draw: st.DrawFn, *, versions: frozenset[int] = frozenset({4, 6})) -> str:
    network = draw(st.sampled_from([network for network in SPECIAL if network.version in versions]))
    return str(network[draw(st.integers(0, network.num_addresses - 1))])


@given(special_addresses())
def test_no_address_of_a_special_network_is_public(address: str) -> None:
    assert not is_public(address)


@given(special_addresses(versions=frozenset({4})), st.integers(0, 2**64 - 1), st.booleans())
def test_no_form_of_a_special_address_is_public(address: str, rest: int, is_global: bool) -> None:  # noqa: FBT001
    number = int(IPv4Address(address))
    isatap = (0x2A00 << 112) + ((rest >> 16) << 64) + (is_global << 57) + (0x5EFE << 32) + number
    for form in (0xFFFF << 32 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80 | rest, isatap, number):
        assert not is_public(str(IPv6Address(form)))


@given(st.sampled_from(_GAPS).flatmap(lambda gap: st.integers(*gap)).map(IPv4Address))
def test_every_other_address_of_four_bytes_is_public_in_each_of_its_forms(address: IPv4Address) -> None:
    number = int(address)
    assert is_public(str(address))
    assert is_public(str(IPv6Address(0xFFFF << 32 | number)))
    assert is_public(str(IPv6Address(0x64FF9B << 96 | number)))
    assert is_public(str(IPv6Address(0x2002 << 112 | number << 80 | 1)))


@given(st.integers(0x2003 << 112, (0x4000 << 112) - 1).map(IPv6Address))
def test_every_other_address_of_sixteen_bytes_that_was_assigned_is_public(address: IPv6Address) -> None:
    assume(not any(address in network for network in SPECIAL))
    assume(int(address) >> 32 & 0xFDFFFFFF != 0x5EFE)
    assert is_public(str(address))


@given(st.integers(0, 2**32 - 1), st.integers(8, 32), st.data())
def test_no_address_of_an_own_network_is_public(number: int, bits: int, data: st.DataObject) -> None:
    network = ip_network((number, bits), strict=False)
    address = network[data.draw(st.integers(0, network.num_addresses - 1))]
    assert not is_public(str(address), [network])
