"""Named scopes of a collection."""

from __future__ import annotations

from directory_indexer.errors import NotIndexedError
from directory_indexer.paths import FilePath
from directory_indexer.registry.scopes import Scopes
from directory_indexer.team.collections import Collections


def scopes_of(collections: Collections, collection: str) -> Scopes:
    """Return the named scopes of a collection.

    Raises:
        NotIndexedError: there is no such collection.
    """
    name, _ = collections.key(collection)
    return Scopes(collections.registry, name)


def directories_of(collections: Collections, collection: str, scope: str) -> tuple[FilePath, ...]:
    """Return the directories of a scope of a collection.

    Raises:
        NotIndexedError: there is no such collection, or no such scope in it.
    """
    directories = scopes_of(collections, collection).all().get(scope)
    if directories is None:
        raise NotIndexedError(f"there is no scope '{scope}'", hint="dirindex scope shows them")
    return directories
