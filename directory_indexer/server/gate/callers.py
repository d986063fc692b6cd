"""Whose key a request was sent with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from directory_indexer.registry.keys import Key, Right, digest_of, key_of
from directory_indexer.server.gate.browsers import PAGE_HEADER, Browsers
from directory_indexer.server.gate.strangers import Strangers

_AUTHORIZATION = b"authorization"
ANYONE = Key("anyone", b"", Right.ADMIN)
"""Who calls where no key is wanted."""

TOKEN_NAME = "token"  # noqa: S105 - the name of a key
"""What the key is called that `--token-file` holds."""


class Callers:
    """The keys that a server takes: those of the registry, as they are at this moment, and the token of an operator.

    Where it has a page, its `browsers` are callers, too.
    """

    def __init__(
        self,
        keys: Callable[[], tuple[Key, ...]],
        *,
        token: str,
        needs_key: bool,
        strangers: Strangers,
        on_use: Callable[[bytes], None] = lambda _: None,
        browsers: Browsers | None = None,
    ) -> None:
        self._keys = keys
        self._strangers = strangers
        self._on_use = on_use
        self._browsers = browsers
        self._token = (Key(TOKEN_NAME, digest_of(token), Right.ADMIN),) if token else ()
        self._needs_key = needs_key

    def caller(self, headers: Iterable[tuple[bytes, bytes]], *, address: str = "") -> Key | int | None:
        """Find who sends a request from an address.

        It is None for a key that is wrong, over, revoked or given twice, or where there is none; and a number of
        seconds where so many of those came from there that none is looked at before.

        Raises:
            StoreError: the keys cannot be read.
        """
        if not self._needs_key:
            return ANYONE
        headers = list(headers)
        if self._browsers is not None and any(name == PAGE_HEADER for name, _ in headers):
            return self._browsers.key_of(headers)
        given = [value for name, value in headers if name == _AUTHORIZATION]
        scheme, _, secret = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        shown = secret.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""
        if seconds := self._strangers.seconds_to_wait(address, digest_of(shown)):
            return seconds
        found = key_of(shown, (*self._token, *self._keys()), now=time.time())
        if found is None:
            self._strangers.failed(address)
        else:
            self._strangers.succeeded(address, found.digest)
            if found not in self._token:
                self._on_use(found.digest)
        return found
