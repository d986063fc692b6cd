"""Who may speak to a server over HTTP: where it listens, under which names, and with which token."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from directory_indexer.errors import UnavailableError, UsageError
from directory_indexer.permissions import secret_is_open

TOKEN_VARIABLE = "DIRINDEX_TOKEN"  # noqa: S105 - the name of a variable
SHORTEST_TOKEN = 16
_HOW_TO_LOCK = f"make a key with: dirindex key new NAME; or give --token-file FILE or set {TOKEN_VARIABLE}"
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]]+)):(?P<port>\d{1,5})")
_LAST_PORT = 65_535
_HTTP_PORT = 80


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Where a server listens."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Tell whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def host_in_url(self) -> str:
        """Write the host as URLs do."""
        return f"[{self.host}]" if ":" in self.host else self.host


@dataclass(frozen=True, slots=True)
class Access:
    """Where to listen, under which names to be called, and the token that callers must know, unless none is wanted."""

    address: HttpAddress
    names: tuple[str, ...] = ()
    token: str = ""
    needs_token: bool = True

    def require_safe(self, *, has_keys: bool) -> None:
        """Refuse to let others read the index: the network, or without a word from the user all who use this machine.

        Raises:
            UsageError: there is neither a token nor a key where one is needed, or one where none is wanted.
        """
        if self.token and not self.needs_token:
            raise UsageError(
                "there is a token, and --no-token", hint=f"leave out one; a token may be in {TOKEN_VARIABLE}"
            )
        if has_keys and not self.needs_token:
            raise UsageError(
                "there are keys, and --no-token would let everybody do everything",
                hint="leave it out; dirindex key list shows the keys",
            )
        if self.token or has_keys:
            return
        if not self.address.is_loopback:
            raise UsageError(
                f"{self.address.host} can be reached from other machines, and there is no token and no key",
                hint=f"{_HOW_TO_LOCK}; or listen on 127.0.0.1",
            )
        if self.needs_token:
            raise UsageError(
                "every user of this machine could read the index, for there is no token and no key",
                hint=f"{_HOW_TO_LOCK}; or --no-token, where everybody may",
            )

    def allowed_hosts(self, port: int) -> list[str]:
        """Give what a Host header may say, in lower case; clients leave out the port that HTTP has by default."""
        names = [*self.names, self.address.host_in_url]
        if self.address.is_loopback:
            names += ["127.0.0.1", "localhost", "[::1]"]
        without_port = names if port == _HTTP_PORT else self.names
        return [one.lower() for one in (*(f"{name}:{port}" for name in dict.fromkeys(names)), *without_port)]

    def allowed_origins(self, port: int) -> list[str]:
        """Give what an Origin header may say: only pages of these very addresses may call."""
        return [f"{scheme}://{host}" for host in self.allowed_hosts(port) for scheme in ("http", "https")]

    def answers_to(self, host: str, port: int) -> bool:
        """Tell whether a Host header names this server: a page that resolves its own name to this machine does not."""
        return host.lower() in self.allowed_hosts(port)

    def trusts(self, origin: str, port: int) -> bool:
        """Tell whether an Origin header names this server, if there is one."""
        return not origin or origin.lower() in self.allowed_origins(port)


def parse_address(text: str) -> HttpAddress:
    """Read `127.0.0.1:8765`, `[::1]:8765` or `:8765`.

    Raises:
        UsageError: the text is none of these.
    """
    found = _ADDRESS.fullmatch(f"127.0.0.1{text}" if text.startswith(":") else text)
    if not found or int(found["port"]) > _LAST_PORT:
        raise UsageError(f"invalid address '{text}' for --http", hint="write --http 127.0.0.1:8765")
    return HttpAddress(found["six"] or found["host"], int(found["port"]))


def read_token(file: Path | None, environ: Mapping[str, str]) -> str:
    """Read the token from its file or from the environment; empty when there is none.

    Raises:
        UsageError: the file cannot be read, others can read it, or it holds nothing that can be a token.
    """
    token = environ.get(TOKEN_VARIABLE, "").strip()
    if file is not None:
        try:
            with file.open(encoding="utf-8") as opened:
                status = os.fstat(opened.fileno())
                token = opened.read().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--token-file '{file}' cannot be read: {error}") from error
        if os.name == "posix" and secret_is_open(status):
            raise UsageError(f"others can read the token in '{file}'", hint=f"chmod 600 '{file}'")
    if (token or file is not None) and (len(token) < SHORTEST_TOKEN or not (token.isascii() and token.isprintable())):
        raise UsageError(
            f"the token must have at least {SHORTEST_TOKEN} printable ASCII characters, on one line",
            hint="make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    return token


def listening_socket(address: HttpAddress) -> socket.socket:
    """Open the socket to listen on; what is accepted from it sends without delay, as asyncio wants but cannot see.

    Raises:
        UnavailableError: the address is taken, or not one of this machine.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise UnavailableError(
            f"cannot listen on {address.host_in_url}:{address.port}: {error.strerror or error}",
            hint="choose another port, or end the server that has it",
        ) from error
    # Else the second half of an answer waits 40 ms for the client to acknowledge the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def names_of(given: Sequence[str], address: HttpAddress) -> tuple[str, ...]:
    """Give the names that callers may use for this machine.

    Raises:
        UsageError: a name is empty.
    """
    if any(not name.strip() for name in given):
        raise UsageError("--allow-host is empty")
    is_everywhere = address.host in {"0.0.0.0", "::"}  # noqa: S104 - compared with, not listened on
    return (*given, socket.gethostname()) if is_everywhere else tuple(given)


def url_of(access: Access) -> str:
    """Give the address that clients call: of a server on every address, one of the names that it goes by.

    Raises:
        UsageError: the port is another one at each start, or others could read the index without a token.
    """
    if access.address.port == 0:
        raise UsageError("port 0 stands for another port at each start", hint="name the port: --http 127.0.0.1:8765")
    if access.token or not access.needs_token:
        access.require_safe(has_keys=False)
    is_everywhere = access.address.host in {"0.0.0.0", "::"}  # noqa: S104 - compared with, not listened on
    host = access.names[0] if is_everywhere else access.address.host_in_url
    return f"http://{host}:{access.address.port}/mcp"
