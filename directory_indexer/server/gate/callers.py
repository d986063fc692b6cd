"""Whose key a request was sent with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from directory_indexer.registry.keys import Key, Right, digest_of, key_of

_AUTHORIZATION = b"authorization"
ANYONE = Key("anyone", b"", Right.ADMIN)
"""Who calls where no key is wanted."""

TOKEN_NAME = "token"  # noqa: S105 - the name of a key
"""What the key is called that `--token-file` holds."""


class Callers:
    """The keys that a server takes: those of the registry, as they are at this moment, and the token of an operator."""

    def __init__(self, keys: Callable[[], tuple[Key, ...]], *, token: str, needs_key: bool) -> None:
        self._keys = keys
        self._token = (Key(TOKEN_NAME, digest_of(token), Right.ADMIN),) if token else ()
        self._needs_key = needs_key

    def caller(self, headers: Iterable[tuple[bytes, bytes]]) -> Key | None:
        """Find who sends a request; None for a key that is wrong, over, revoked or given twice, or where there is none.

        Raises:
            StoreError: the keys cannot be read.
        """
        if not self._needs_key:
            return ANYONE
        given = [value for name, value in headers if name == _AUTHORIZATION]
        scheme, _, secret = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        keys = (*self._token, *self._keys())
        found = key_of(secret.strip().decode("latin-1"), keys, now=time.time())
        return found if scheme.lower() == b"bearer" else None
