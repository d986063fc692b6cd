"""Keys of those who may use a server: what each allows, to which collections, and until when.

A key itself is shown once, when it is made. What is kept of it is its SHA-256: it has 256 bits of chance, so that
nothing slower is needed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from directory_indexer.config.collections import collection_name
from directory_indexer.databases.stored_values import (
    DamagedValueError,
    epoch_seconds,
    intact_rows,
    parse_stored,
    texts_in,
)
from directory_indexer.errors import UsageError
from directory_indexer.registry.store import Registry

PREFIX = "dirindex_"
"""What every key begins with, so that programs that look for secrets know one."""

DEFAULT_COLLECTION = "default"
"""What the index is called that the data directory holds by itself."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_KNOWN = "keys"
_INSERT = """
INSERT INTO keys (name, digest, access_right, collections, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
"""
KEY_COLUMNS = "name, digest, access_right, collections, created_at, expires_at, last_used_at"
_SELECT = f"SELECT {KEY_COLUMNS} FROM keys ORDER BY name"  # noqa: S608 - constants
_DIGEST_BYTES = 32


class Right(StrEnum):
    """What a key allows; each of the first three has those before it in it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    METRICS = "metrics"
    """To read how a server fares, and nothing else."""

    OWNER = "owner"
    """What the person who runs `dirindex ui` may do at its page; no key has it."""

    def allows(self, needed: Right) -> bool:
        """Tell whether what needs another right may be done with this one."""
        return needed in _ALLOWED[self]


_ALLOWED = {
    Right.READ: {Right.READ},
    Right.WRITE: {Right.READ, Right.WRITE},
    Right.ADMIN: {Right.READ, Right.WRITE, Right.ADMIN, Right.METRICS},
    Right.METRICS: {Right.METRICS},
    Right.OWNER: {Right.READ, Right.WRITE, Right.OWNER},
}


class Key(NamedTuple):
    """What is known of a key; `digest` is its SHA-256, `collections` is None where it is good for all of them.

    `created_at`, `expires_at` and `last_used_at` are seconds since the epoch; the last is a minute or so behind.
    """

    name: str
    digest: bytes
    right: Right
    collections: frozenset[str] | None = None
    created_at: float = 0.0
    expires_at: float | None = None
    last_used_at: float | None = None

    def may(self, needed: Right) -> bool:
        """Tell whether it allows what needs a right."""
        return self.right.allows(needed)

    def reaches(self, collection: str) -> bool:
        """Tell whether it is good for a collection; where it is not, that collection must seem not to be there."""
        return self.collections is None or collection in self.collections

    def is_expired(self, now: float) -> bool:
        """Tell whether its time is over."""
        return self.expires_at is not None and self.expires_at <= now


class Keys:
    """The keys in a registry; one whose row is damaged opens nothing, and the doctor names it."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def add(
        self, name: str, right: Right, *, collections: Iterable[str] = (), seconds: float | None = None
    ) -> tuple[Key, str]:
        """Make a key, for some collections or for all, for some time or for ever; give it, and the secret itself.

        Raises:
            UsageError: the name is none, or that of another key.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"'{name}' is no name for a key", hint="1 to 64 letters, digits and . _ @ - name whom or what it is for"
            )
        secret = f"{PREFIX}{secrets.token_urlsafe(32)}"
        now = time.time()
        only = frozenset(collections) or None
        key = Key(name, digest_of(secret), right, only, now, None if seconds is None else now + seconds)
        listed = None if only is None else json.dumps(sorted(only))
        values = (key.name, key.digest, key.right, listed, key.created_at, key.expires_at)
        with self._registry.writing() as connection:
            if connection.execute("SELECT 1 FROM keys WHERE name = ?", (name,)).fetchone():
                raise UsageError(f"there is a key '{name}'", hint=f"dirindex key revoke {name} takes it back")
            connection.execute(_INSERT, values)
        return key, secret

    def all(self) -> tuple[Key, ...]:
        """Give all keys, by their names, also those whose time is over."""
        if not self._registry.exists():
            return ()
        with self._registry.reading() as connection:
            known = connection.known.get(_KNOWN)
            if known is None:
                known = connection.known[_KNOWN] = tuple(intact_rows(key_row, connection.raw.execute(_SELECT)))
            return known  # type: ignore[return-value]  # as it was put there

    def note_uses(self, used_at: Mapping[bytes, float]) -> None:
        """Record when keys were last used, by their digests; those that are not in the registry are left out."""
        with self._registry.writing() as connection:
            connection.executemany(
                "UPDATE keys SET last_used_at = ? WHERE digest = ?", [(at, digest) for digest, at in used_at.items()]
            )

    def revoke(self, name: str) -> Key:
        """Take a key back; servers that run refuse it from the next request on.

        Raises:
            UsageError: there is none of that name.
        """
        found = next((key for key in self.all() if key.name == name), None)
        if found is None:
            raise UsageError(f"there is no key '{name}'", hint="dirindex key list shows which there are")
        with self._registry.writing() as connection:
            connection.execute("DELETE FROM keys WHERE name = ?", (name,))
        return found


def digest_of(secret: str) -> bytes:
    """Give what is kept of a key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def key_of(secret: str, keys: Sequence[Key], *, now: float) -> Key | None:
    """Find the key that a secret is; how long that takes tells nothing about any of them."""
    digest = digest_of(secret)
    fitting = [key for key in keys if hmac.compare_digest(key.digest, digest)]
    return next((key for key in fitting if not key.is_expired(now)), None)


def key_row(row: Sequence[Any]) -> Key:
    """Parse the columns of a row.

    Raises:
        DamagedValueError: one of them holds what this program does not write, or a right that no key has.
    """
    name, digest, right, collections, *moments = row
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise DamagedValueError("keys.name")
    if not isinstance(digest, bytes) or len(digest) != _DIGEST_BYTES:
        raise DamagedValueError("keys.digest")
    if right == Right.OWNER:
        raise DamagedValueError("keys.access_right")
    created_at, *others = (
        seconds if seconds is None else parse_stored("keys.created_at", epoch_seconds, seconds) for seconds in moments
    )
    if created_at is None:
        raise DamagedValueError("keys.created_at")
    only = None if collections is None else frozenset(parse_stored("keys.collections", _names_in, collections))
    return Key(name, digest, parse_stored("keys.access_right", Right, right), only, created_at, *others)


def _names_in(written: object) -> tuple[str, ...]:
    """Parse names of collections, of which a key that is not good for all has at least one."""
    names = tuple(map(collection_name, texts_in(written)))
    if not names:
        raise ValueError(written)
    return names
