"""Network access to an HTTP server: its address, its host names and its token."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from directory_indexer.core.errors import UnavailableError, UsageError
from directory_indexer.core.kept_files import is_secret_readable_by_others

TOKEN_VARIABLE = "DIRINDEX_TOKEN"  # noqa: S105 - the name of a variable
MIN_TOKEN_CHARS = 16
_AUTHENTICATION_HINT = f"make a key with: dirindex key new NAME; or give --token-file FILE or set {TOKEN_VARIABLE}"
_ADDRESS_PATTERN = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]]+)):(?P<port>\d{1,5})")
_LAST_PORT = 65_535
_HTTP_PORT = 80


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """The address that a server listens on."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether the address is reachable from this machine only."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def host_in_url(self) -> str:
        """The host in URL syntax."""
        return f"[{self.host}]" if ":" in self.host else self.host


@dataclass(frozen=True, slots=True)
class Access:
    """The address to listen on, additional host names, and the token of callers, unless none is required."""

    address: HttpAddress
    names: tuple[str, ...] = ()
    token: str = ""
    needs_token: bool = True

    def require_safe(self, *, has_keys: bool) -> None:
        """Require a token or key, unless the user has allowed all local users by --no-token on a loopback address.

        Raises:
            UsageError: a token or key is missing, or contradicts --no-token.
        """
        if self.token and not self.needs_token:
            raise UsageError(
                "a token and --no-token exclude each other", hint=f"leave out one; a token may be in {TOKEN_VARIABLE}"
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
                hint=f"{_AUTHENTICATION_HINT}; or listen on 127.0.0.1",
            )
        if self.needs_token:
            raise UsageError(
                "every user of this machine could read the index, for there is no token and no key",
                hint=f"{_AUTHENTICATION_HINT}; or --no-token, where everybody may",
            )

    def allowed_hosts(self, port: int) -> list[str]:
        """Return the valid Host headers, in lower case; clients omit the default port of HTTP."""
        names = [*self.names, self.address.host_in_url]
        if self.address.is_loopback:
            names += ["127.0.0.1", "localhost", "[::1]"]
        without_port = names if port == _HTTP_PORT else self.names
        return [host.lower() for host in (*(f"{name}:{port}" for name in dict.fromkeys(names)), *without_port)]

    def allowed_origins(self, port: int) -> list[str]:
        """Return the valid Origin headers: only pages of this server itself may call it."""
        return [f"{scheme}://{host}" for host in self.allowed_hosts(port) for scheme in ("http", "https")]

    def is_allowed_host(self, host: str, port: int) -> bool:
        """Whether a Host header names this server; this check defeats DNS rebinding."""
        return host.lower() in self.allowed_hosts(port)

    def is_allowed_origin(self, origin: str, port: int) -> bool:
        """Whether an Origin header is empty or names this server."""
        return not origin or origin.lower() in self.allowed_origins(port)


def parse_address(text: str) -> HttpAddress:
    """Parse `127.0.0.1:8765`, `[::1]:8765` or `:8765`.

    Raises:
        UsageError: the text has another form.
    """
    match = _ADDRESS_PATTERN.fullmatch(f"127.0.0.1{text}" if text.startswith(":") else text)
    if not match or int(match["port"]) > _LAST_PORT:
        raise UsageError(f"invalid address '{text}' for --http", hint="write --http 127.0.0.1:8765")
    return HttpAddress(match["six"] or match["host"], int(match["port"]))


def read_token(file: Path | None, environ: Mapping[str, str]) -> str:
    """Read the token from its file or the environment; empty if there is none.

    Raises:
        UsageError: the file cannot be read, is readable by others, or contains no valid token.
    """
    token = environ.get(TOKEN_VARIABLE, "").strip()
    if file is not None:
        try:
            with file.open(encoding="utf-8") as opened:
                status = os.fstat(opened.fileno())
                token = opened.read().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--token-file '{file}' cannot be read: {error}") from error
        if os.name == "posix" and is_secret_readable_by_others(status):
            raise UsageError(f"others can read the token in '{file}'", hint=f"chmod 600 '{file}'")
    if (token or file is not None) and (len(token) < MIN_TOKEN_CHARS or not (token.isascii() and token.isprintable())):
        raise UsageError(
            f"the token must have at least {MIN_TOKEN_CHARS} printable ASCII characters, on one line",
            hint="make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    return token


def open_listening_socket(address: HttpAddress) -> socket.socket:
    """Return a listening socket whose connections use TCP_NODELAY, which asyncio cannot detect on them.

    Raises:
        UnavailableError: the address is in use, or not one of this machine.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise UnavailableError(
            f"cannot listen on {address.host_in_url}:{address.port}: {error.strerror or error}",
            hint="choose another port, or end the server that has it",
        ) from error
    # Otherwise the second half of a response waits 40 ms for the acknowledgement of the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def host_names(names: Sequence[str], address: HttpAddress) -> tuple[str, ...]:
    """Return the host names that clients may use for this server.

    Raises:
        UsageError: a name is empty.
    """
    if any(not name.strip() for name in names):
        raise UsageError("--allow-host is empty")
    is_everywhere = address.host in {"0.0.0.0", "::"}  # noqa: S104 - a comparison, not an address to listen on
    return (*names, socket.gethostname()) if is_everywhere else tuple(names)


def server_url(access: Access) -> str:
    """Return the URL for clients; of a server on all addresses, with its first host name.

    Raises:
        UsageError: the port changes at every start, or others could read the index without a token.
    """
    if access.address.port == 0:
        raise UsageError("port 0 picks a new port at every start", hint="name the port: --http 127.0.0.1:8765")
    if access.token or not access.needs_token:
        access.require_safe(has_keys=False)
    is_everywhere = access.address.host in {"0.0.0.0", "::"}  # noqa: S104 - a comparison, not an address to listen on
    host = access.names[0] if is_everywhere else access.address.host_in_url
    return f"http://{host}:{access.address.port}/mcp"
