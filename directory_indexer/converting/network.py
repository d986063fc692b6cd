"""Network backend for fetching: a host name is resolved once, and the checked addresses are connected to.

A second lookup with another result (DNS rebinding) is therefore impossible. All network waits share one deadline,
however slowly a server sends.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import httpcore

from directory_indexer.converting.destinations import Destinations
from directory_indexer.converting.public_addresses import IpNetwork, is_public, own_networks
from directory_indexer.errors import UnavailableError, UsageError

Lookup = Callable[[str, int], list[str]]


def addresses_of(host: str, port: int) -> list[str]:
    """Resolve a host name.

    Raises:
        OSError: it leads nowhere.
    """
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


class Network(httpcore.NetworkBackend):
    """Connects to allowed destinations, until a deadline of the monotonic clock."""

    def __init__(
        self,
        *,
        deadline: float,
        destinations: Destinations,
        look_up: Lookup = addresses_of,
        own_networks: Callable[[], Sequence[IpNetwork]] = own_networks,
    ) -> None:
        self._deadline = deadline
        self._destinations = destinations
        self._look_up = look_up
        self._own_networks = own_networks
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - `seconds` decides
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of a host that accepts the connection.

        Raises:
            UsageError: the name leads into a private network, or the port is none of the web.
            UnavailableError: it leads nowhere.
        """
        *others, last = self._addresses(host, port)
        for address in others:
            try:
                return self._connect(address, port, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._connect(last, port, local_address, socket_options)

    def seconds(self) -> float:
        """Return the timeout of the next step.

        Raises:
            ReadTimeout: the time is over.
        """
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise httpcore.ReadTimeout
        return min(remaining, _STEP_SECONDS)

    def _addresses(self, host: str, port: int) -> list[str]:
        try:
            addresses = self._look_up(host, port)
        except (OSError, UnicodeError) as error:
            raise UnavailableError(f"{host} cannot be found", hint="check the address and the network") from error
        if not addresses:
            raise UnavailableError(f"{host} has no address", hint="check the address")
        own = () if self._destinations.allow_private else self._own_networks()
        if not all(self._destinations.may_reach(host, address, port, own=own) for address in addresses):
            # The address is not named: clients of a server could map the network behind it.
            is_private = not all(is_public(address, own) for address in addresses)
            where = (
                "leads into a private network" if is_private else f"is asked at port {port}, which is none of the web"
            )
            raise UsageError(f"{host} {where}", hint=_ALLOW)
        return addresses

    def _connect(
        self, address: str, port: int, local_address: str | None, socket_options: Iterable[Any] | None
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.connect_tcp(address, port, self.seconds(), local_address, socket_options), self)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, network: Network) -> None:
        self._inner = inner
        self._network = network

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._inner.read(max_bytes, self._network.seconds())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._inner.write(buffer, self._network.seconds())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, self._network.seconds()), self._network)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


_ALLOW: Final = "name it in fetching.allowed of the configuration, or at a terminal add --allow-private"
_STEP_SECONDS: Final = 10.0
