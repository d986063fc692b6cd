"""Records of the API keys of a server."""

from __future__ import annotations

import time
from typing import Annotated, NamedTuple

from directory_indexer.lazy import lazily
from directory_indexer.wire.objects import timestamp

with lazily:
    from directory_indexer.registry.keys import Key


class KeyFacts(NamedTuple):
    """The facts of a key."""

    name: Annotated[str, "What it is called."]
    right: Annotated[str, "read, write, admin or metrics."]
    collections: Annotated[tuple[str, ...] | None, "The collections that it is good for; null: all of them."]
    created_at: Annotated[str | None, "When it was made."]
    expires_at: Annotated[str | None, "When its time is over; null: never."]
    expired: Annotated[bool, "Whether its time is over."]
    last_used_at: Annotated[str | None, "When it was last used, to a minute or so; null: never."]
    key: Annotated[str | None, "The key itself, when it is made."] = None


class KeyList(NamedTuple):
    """All keys."""

    keys: Annotated[tuple[KeyFacts, ...], "The keys, by their names."]


def key_facts(key: Key, *, secret: str | None = None) -> KeyFacts:
    """Return the record of a key."""
    return KeyFacts(
        name=key.name,
        right=key.right,
        collections=None if key.collections is None else tuple(sorted(key.collections)),
        created_at=timestamp(key.created_at),
        expires_at=timestamp(key.expires_at),
        expired=key.is_expired(time.time()),
        last_used_at=timestamp(key.last_used_at),
        key=secret,
    )
