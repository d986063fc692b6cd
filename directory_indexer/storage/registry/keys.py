"""API keys of a server: their rights, collections and expiry.

A key is shown once, when it is created. Only its SHA-256 is stored: a key has 256 bits of entropy, so no slower hash is
needed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from directory_indexer.config import collection_name
from directory_indexer.core.errors import UsageError
from directory_indexer.core.rights import Right
from directory_indexer.storage.databases.stored_values import (
    DamagedValueError,
    parse_epoch_seconds,
    parse_stored,
    parse_texts,
)
from directory_indexer.storage.registry import Registry

PREFIX = "dirindex_"
"""The prefix of every key, by which secret scanners recognise one."""

DEFAULT_COLLECTION = "default"
"""The name of the collection that is the index of the data directory."""

_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_INSERT = """
INSERT INTO keys (name, digest, access_right, collections, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
"""
KEY_COLUMNS = "name, digest, access_right, collections, created_at, expires_at, last_used_at"
_SELECT = f"SELECT {KEY_COLUMNS} FROM keys ORDER BY name"  # noqa: S608 - constants
_DIGEST_BYTES = 32


class Key(NamedTuple):
    """A key; `digest` is its SHA-256, `collections` is None if it is valid for all of them.

    `created_at`, `expires_at` and `last_used_at` are seconds since the epoch; the last may be a minute behind.
    """

    name: str
    digest: bytes
    right: Right
    collections: frozenset[str] | None = None
    created_at: float = 0.0
    expires_at: float | None = None
    last_used_at: float | None = None

    def has_right(self, needed: Right) -> bool:
        """Whether the key has a right."""
        return self.right.allows(needed)

    def grants_collection(self, collection: str) -> bool:
        """Whether the key is valid for a collection; other collections must appear not to exist."""
        return self.collections is None or collection in self.collections

    def is_expired(self, now: float) -> bool:
        """Whether the key has expired."""
        return self.expires_at is not None and self.expires_at <= now


class Keys:
    """The keys of a registry; a key with a damaged row is invalid, and the doctor reports it."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def add(
        self, name: str, right: Right, *, collections: Iterable[str] = (), seconds: float | None = None
    ) -> tuple[Key, str]:
        """Create a key, optionally for some collections and for some time; return it with its secret.

        Raises:
            UsageError: the name is invalid, or belongs to another key.
        """
        if not _NAME_PATTERN.fullmatch(name):
            raise UsageError(
                f"'{name}' is not a valid name for a key",
                hint="1 to 64 letters, digits and . _ @ - name whom or what it is for",
            )
        secret = f"{PREFIX}{secrets.token_urlsafe(32)}"
        now = time.time()
        only = frozenset(collections) or None
        key = Key(name, digest_secret(secret), right, only, now, None if seconds is None else now + seconds)
        listed = None if only is None else json.dumps(sorted(only))
        values = (key.name, key.digest, key.right, listed, key.created_at, key.expires_at)
        with self._registry.writing() as connection:
            if connection.execute("SELECT 1 FROM keys WHERE name = ?", (name,)).fetchone():
                raise UsageError(f"a key '{name}' already exists", hint=f"dirindex key revoke {name} revokes it")
            connection.execute(_INSERT, values)
        return key, secret

    def all(self) -> tuple[Key, ...]:
        """Return all keys by name, including expired ones."""
        return self._registry.cached_rows(_SELECT, parse_key)

    def record_uses(self, used_at: Mapping[bytes, float]) -> None:
        """Store when keys were last used, by their digests; unknown keys are ignored."""
        with self._registry.writing() as connection:
            connection.executemany(
                "UPDATE keys SET last_used_at = ? WHERE digest = ?", [(at, digest) for digest, at in used_at.items()]
            )

    def revoke(self, name: str) -> Key:
        """Revoke a key; running servers refuse it from the next request on.

        Raises:
            UsageError: there is no key of that name.
        """
        key = next((key for key in self.all() if key.name == name), None)
        if key is None:
            raise UsageError(f"there is no key '{name}'", hint="dirindex key list shows which there are")
        self._registry.change("DELETE FROM keys WHERE name = ?", name)
        return key


def digest_secret(secret: str) -> bytes:
    """Return the stored digest of a key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def find_valid_key(secret: str, keys: Sequence[Key], *, now: float) -> Key | None:
    """Return the valid key of a secret, in constant time."""
    digest = digest_secret(secret)
    matches = [key for key in keys if hmac.compare_digest(key.digest, digest)]
    return next((key for key in matches if not key.is_expired(now)), None)


def parse_key(row: Sequence[Any]) -> Key:
    """Parse the columns of a row."""
    name, digest, right, collections, *moments = row
    if not (isinstance(name, str) and _NAME_PATTERN.fullmatch(name)):
        raise DamagedValueError("keys.name")
    if not isinstance(digest, bytes) or len(digest) != _DIGEST_BYTES:
        raise DamagedValueError("keys.digest")
    if right == Right.OWNER:
        raise DamagedValueError("keys.access_right")
    created_at, *others = (
        seconds if seconds is None else parse_stored("keys.created_at", parse_epoch_seconds, seconds)
        for seconds in moments
    )
    if created_at is None:
        raise DamagedValueError("keys.created_at")
    only = (
        None
        if collections is None
        else frozenset(parse_stored("keys.collections", _parse_collection_names, collections))
    )
    return Key(name, digest, parse_stored("keys.access_right", Right, right), only, created_at, *others)


def _parse_collection_names(stored: object) -> tuple[str, ...]:
    """Parse names of collections; a key that is not valid for all of them names at least one."""
    names = tuple(map(collection_name, parse_texts(stored)))
    if not names:
        raise ValueError(stored)
    return names
