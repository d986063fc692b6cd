"""Who asks without a good key: each address may do that now and then, so that guessing keys takes time.

When an address has done it too often, no key from there is even looked at, so that an answer says nothing of it; but
for the keys that were good there before, so that one guest does not lock out all others behind the same gateway.
"""

from __future__ import annotations

import ipaddress
import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from directory_indexer.server.gate.rates import Rate

FAILURES: Final = Rate(a_second=1.0, at_once=30)
_MOST_ADDRESSES: Final = 10_000
_MOST_FRIENDS: Final = 256
_PREFIX_BITS: Final = 64


class _Record(NamedTuple):
    left: float
    at: float
    good: tuple[bytes, ...] = ()


class Strangers:
    """The addresses that have asked without a good key; the least recent are forgotten when there are too many."""

    def __init__(self, rate: Rate = FAILURES, *, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._records: OrderedDict[str, _Record] = OrderedDict()

    def seconds_to_wait(self, address: str, digest: bytes) -> int:
        """Tell in how many seconds a key from an address is looked at; 0 for at once."""
        record = self._record(address)
        if digest in record.good or record.left >= 1:
            return 0
        return math.ceil((1 - record.left) / self._rate.a_second)

    def failed(self, address: str) -> None:
        """Note that somebody there has shown no good key."""
        record = self._record(address)
        self._put(address, record._replace(left=max(record.left - 1, 0.0)))

    def succeeded(self, address: str, digest: bytes) -> None:
        """Note that somebody there has shown a good key."""
        record = self._record(address)
        if digest not in record.good:
            self._put(address, record._replace(good=(*record.good, digest)[-_MOST_FRIENDS:]))

    def count(self) -> int:
        """Count the addresses that are remembered."""
        return len(self._records)

    def _record(self, address: str) -> _Record:
        now = self._clock()
        record = self._records.get(_network_of(address), _Record(float(self._rate.at_once), now))
        left = min(self._rate.at_once, record.left + (now - record.at) * self._rate.a_second)
        return record._replace(left=left, at=now)

    def _put(self, address: str, record: _Record) -> None:
        network = _network_of(address)
        self._records[network] = record
        self._records.move_to_end(network)
        if len(self._records) > _MOST_ADDRESSES:
            self._records.popitem(last=False)


def _network_of(address: str) -> str:
    """Give what one client has: an address, or of the newer ones the 2^64 that each connection gets."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found), _PREFIX_BITS), strict=False))
