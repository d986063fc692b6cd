"""Public addresses: by a table of our own, and by the networks of this machine."""

from __future__ import annotations

import ipaddress
import sys
from typing import TYPE_CHECKING, Final

import pytest

from directory_indexer.config.services import parse_host_rule
from directory_indexer.core.errors import UsageError
from directory_indexer.integrations.converting.destinations import (
    Destinations,
    checked_addresses,
    is_public,
    networks_in,
    own_networks,
    parse_ip_address,
)

if TYPE_CHECKING:
    from typing import NoReturn

NOT_PUBLIC: Final = """
    0.0.0.0 0.0.0.1 0.255.255.255
    10.0.0.0 10.255.255.255
    100.64.0.0 100.100.100.200 100.127.255.255
    127.0.0.1 127.255.255.255
    161.26.0.10 166.8.0.1 166.11.255.255
    168.63.129.16
    169.254.0.0 169.254.169.254 169.254.255.255
    172.16.0.0 172.31.255.255
    192.0.0.0 192.0.0.8 192.0.0.9 192.0.0.10 192.0.0.170 192.0.0.192 192.0.0.255
    192.0.2.0 192.0.2.255 192.31.196.1 192.52.193.1 192.88.99.1 192.88.99.2 192.175.48.6
    192.168.0.0 192.168.255.255
    198.18.0.0 198.19.255.255 198.51.100.7 199.36.153.4 199.36.153.11 203.0.113.7
    224.0.0.1 232.1.2.3 239.255.255.255 240.0.0.0 255.255.255.255

    :: ::1 ::8.8.8.8 ::ffff:0:8.8.8.8 ::ffff:10.0.0.1 ::ffff:192.0.0.192 ::ffff:168.63.129.16
    64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b::168.63.129.16 64:ff9b:1::8.8.8.8 64:ff9b:0:1::
    100::1 100:0:0:1::1 200::1 400::1 1fff:ffff::1
    2001:: 2001::1 2001:0:808:808::1 2001:1::1 2001:1::2 2001:2::1 2001:3::1 2001:4:112::1 2001:5::1
    2001:10::1 2001:20::1 2001:30::1
    2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff 2001:db8::1 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff
    2002:a00:1::1 2002:7f00:1:: 2002:a83f:8110::1 2002:c000:c0::1 2002:e000:1::1
    2600:2d00:2:1000::1 2600:2d00:2:2000::1 2620:4f:8000::1
    3fff::1 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff 4000::1 5f00::1
    fc00::1 fd00:ec2::254 fd20:ce::254 fdff:ffff::1 fe00::1 fe80::1 fe80::1%eth0 fe80::1234:5678:9abc febf::1
    fec0::1 ff02::1
    2a00::5efe:10.0.0.1 2a00::200:5efe:127.0.0.1 fd00::5efe:8.8.8.8 2001:db8::5efe:8.8.8.8 2002:a00:1::5efe:8.8.8.8
""".split()

PUBLIC: Final = """
    1.0.0.1 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.215.14
    100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 161.25.255.255 161.27.0.0 166.7.255.255 166.12.0.0
    168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0
    191.255.255.255 192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0
    198.17.255.255 198.20.0.0 199.36.153.3 199.36.153.12 203.0.112.255 203.0.114.0 223.255.255.255
    ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2000::1 2001:200::1 2001:4860:4860::8888 2001:db7:ffff::1 2001:db9::1
    2002:808:808::1 2003::1 2606:4700::1111 2620:4f:7fff::1 2620:4f:8001::1 2a00::5efe:8.8.8.8 3ffe::1 3fff:1000::1
""".split()

_FIB_TRIE: Final = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
        /1 link UNICAST
     |-- 128.0.0.0
        /1 link UNICAST
     +-- 52.10.0.0/16 2 0 2
        |-- 52.10.0.0
           /20 link UNICAST
        |-- 52.10.3.4
           /32 host LOCAL
        |-- 52.10.15.255
           /32 link BROADCAST
     |-- 53.0.0.0
        /16 universe UNICAST
Local:
     |-- 127.0.0.0
        /8 host LOCAL
     |-- 54.1.2.3
        /32 host LOCAL
"""
_IF_INET6: Final = """2a010db8000100020000000000000005 02 40 00 82     eth0
2a010db8000900020000000000000005 03 80 00 80      wg0
2b000000000000000000000000000001 04 00 00 80     tun0
fe8000000000000000fc00fffe000001 02 40 20 80     eth0
00000000000000000000000000000001 01 80 10 80       lo
"""


def test_the_table_is_large_enough_to_say_something() -> None:
    assert len(NOT_PUBLIC) + len(PUBLIC) > 150
    assert len({*NOT_PUBLIC, *PUBLIC}) == len(NOT_PUBLIC) + len(PUBLIC)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_with_a_purpose_of_its_own_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_beside_those_is_public(address: str) -> None:
    assert is_public(address)


def test_nothing_depends_on_what_a_version_of_python_believes(monkeypatch: pytest.MonkeyPatch) -> None:
    def believe(_: object) -> NoReturn:
        raise AssertionError

    for kind in (ipaddress.IPv4Address, ipaddress.IPv6Address):
        for name in (*filter(lambda name: name.startswith("is_"), dir(kind)), "ipv4_mapped", "sixtofour", "teredo"):
            if hasattr(kind, name):
                monkeypatch.setattr(kind, name, property(believe))
    assert [address for address in NOT_PUBLIC if is_public(address)] == []
    assert [address for address in PUBLIC if not is_public(address)] == []


def test_networks_of_interfaces_are_those_that_linux_lists_and_not_what_lies_behind_a_tunnel() -> None:
    assert {*map(str, networks_in(_FIB_TRIE, _IF_INET6))} == {
        "52.10.0.0/20",
        "52.10.3.4/32",
        "127.0.0.0/8",
        "54.1.2.3/32",
        "2a01:db8:1:2::/64",
        "2a01:db8:9:2::5/128",
        "2b00::/32",
        "fe80::/64",
        "::1/128",
    }
    assert networks_in("", "") == ()


@pytest.mark.parametrize(
    "address",
    [
        "52.10.3.4",
        "52.10.15.254",
        "54.1.2.3",
        "2a01:db8:1:2::99",
        "::ffff:54.1.2.3",
        "64:ff9b::54.1.2.3",
        "2002:3601:203::1",
    ],
)
def test_an_address_of_this_machine_or_in_a_network_of_its_interfaces_is_not_public(address: str) -> None:
    own = networks_in(_FIB_TRIE, _IF_INET6)
    assert is_public(address)
    assert not is_public(address, own)
    assert is_public("52.10.16.1", own)
    with pytest.raises(UsageError, match="leads into a private network"):
        checked_addresses("a.example", 80, destinations=Destinations(), look_up=lambda *_: [address], own=own)
    assert Destinations((parse_host_rule("a.example"),)).may_reach("a.example", address, 80, own=own)


def test_this_machine_knows_its_own_addresses() -> None:
    own = own_networks()
    assert own
    if sys.platform == "linux":
        assert any(parse_ip_address("127.0.0.1") in network for network in own)


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254"]
)
def test_a_name_that_is_allowed_does_not_lead_to_what_a_cloud_tells_its_machines(address: str) -> None:
    assert not Destinations((parse_host_rule("*.corp"),)).may_reach("wiki.corp", address, 80)
