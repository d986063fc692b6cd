"""Authentication of requests by API keys, the operator's token or browser sessions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from directory_indexer.registry.keys import Key, Right, digest_of, key_of
from directory_indexer.server.gate.browsers import PAGE_HEADER, Browsers
from directory_indexer.server.gate.strangers import Strangers

_AUTHORIZATION = b"authorization"
ANYONE = Key("anyone", b"", Right.ADMIN)
"""The key of all callers of a server that requires none."""

TOKEN_NAME = "token"  # noqa: S105 - the name of a key
"""The key name of the token in `--token-file`."""


class Callers:
    """Authenticates callers by the current keys of the registry and the token of the operator.

    A server with a page also accepts the sessions in `browsers`.
    """

    def __init__(
        self,
        keys: Callable[[], tuple[Key, ...]],
        *,
        token: str,
        needs_key: bool,
        login_throttle: Strangers,
        on_use: Callable[[bytes], None] = lambda _: None,
        browsers: Browsers | None = None,
    ) -> None:
        self._keys = keys
        self._login_throttle = login_throttle
        self._on_use = on_use
        self._browsers = browsers
        self._token = (Key(TOKEN_NAME, digest_of(token), Right.ADMIN),) if token else ()
        self._needs_key = needs_key

    def caller(self, headers: Iterable[tuple[bytes, bytes]], *, address: str = "") -> Key | int | None:
        """Return the key of a request from an address.

        None for a missing, wrong, expired, revoked or repeated key; a number of seconds, if too many such requests came
        from the address, until keys from there are checked again.

        Raises:
            StoreError: the keys cannot be read.
        """
        if not self._needs_key:
            return ANYONE
        headers = list(headers)
        if self._browsers is not None and any(name == PAGE_HEADER for name, _ in headers):
            return self._browsers.key_of(headers)
        credentials = [value for name, value in headers if name == _AUTHORIZATION]
        scheme, _, secret = credentials[0].partition(b" ") if len(credentials) == 1 else (b"", b"", b"")
        presented = secret.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""
        if seconds := self._login_throttle.seconds_to_wait(address, digest_of(presented)):
            return seconds
        key = key_of(presented, (*self._token, *self._keys()), now=time.time())
        if key is None:
            self._login_throttle.failed(address)
        else:
            self._login_throttle.succeeded(address, key.digest)
            if key not in self._token:
                self._on_use(key.digest)
        return key
