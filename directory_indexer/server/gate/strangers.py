"""Login throttle: failed authentication is rate-limited by client address, so that guessing keys takes time.

Beyond the limit, keys from an address are not checked at all, so that a response reveals nothing about them; except
keys that were valid there before, so that one client does not lock out all others behind the same gateway.
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
_MAX_VALID_KEYS: Final = 256
_PREFIX_BITS: Final = 64


class _Record(NamedTuple):
    n_tokens: float
    updated_at: float
    valid: tuple[bytes, ...] = ()


class Strangers:
    """The addresses with failed attempts; the least recent are dropped beyond a limit."""

    def __init__(self, rate: Rate = FAILURES, *, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._records: OrderedDict[str, _Record] = OrderedDict()

    def seconds_to_wait(self, address: str, digest: bytes) -> int:
        """Return the seconds until a key from an address is checked; 0 for at once."""
        record = self._record(address)
        if digest in record.valid or record.n_tokens >= 1:
            return 0
        return math.ceil((1 - record.n_tokens) / self._rate.a_second)

    def failed(self, address: str) -> None:
        """Record a failed attempt."""
        record = self._record(address)
        self._put(address, record._replace(n_tokens=max(record.n_tokens - 1, 0.0)))

    def succeeded(self, address: str, digest: bytes) -> None:
        """Record a valid key."""
        record = self._record(address)
        if digest not in record.valid:
            self._put(address, record._replace(valid=(*record.valid, digest)[-_MAX_VALID_KEYS:]))

    def count(self) -> int:
        """Return the number of recorded addresses."""
        return len(self._records)

    def _record(self, address: str) -> _Record:
        now = self._clock()
        record = self._records.get(_network_of(address), _Record(float(self._rate.at_once), now))
        n_tokens = min(self._rate.at_once, record.n_tokens + (now - record.updated_at) * self._rate.a_second)
        return record._replace(n_tokens=n_tokens, updated_at=now)

    def _put(self, address: str, record: _Record) -> None:
        network = _network_of(address)
        self._records[network] = record
        self._records.move_to_end(network)
        if len(self._records) > _MOST_ADDRESSES:
            self._records.popitem(last=False)


def _network_of(address: str) -> str:
    """Return the network of a client: an IPv4 address, or the /64 prefix of an IPv6 address."""
    try:
        ip_address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip_address, ipaddress.IPv4Address):
        return address
    return str(ip_address.ipv4_mapped or ipaddress.ip_network((int(ip_address), _PREFIX_BITS), strict=False))
