"""Operations below `/api/v1/collections`: list, create, describe and delete collections."""

from __future__ import annotations

from directory_indexer.errors import ConflictError, LockedError, NotIndexedError
from directory_indexer.server.api.arguments import CollectionCall, DescribeCall, NoArguments
from directory_indexer.server.api.operations import Reply, Services
from directory_indexer.wire.team import CollectionEntry, CollectionsAnswer, collection_entry

_CREATED, _OK, _ACCEPTED, _GONE = 201, 200, 202, 204
_PATH = "/api/v1/collections"
_DELETION_SECONDS = 20.0


def collections(services: Services, _: NoArguments) -> CollectionsAnswer:
    """Return the collections that the caller may use."""
    entries: list[CollectionEntry] = []
    for name in services.collections.names():
        if services.reaches(name):
            try:
                entries.append(collection_entry(services.collections.look_at(name)))
            except NotIndexedError:  # it has been deleted in the meantime
                continue
    return CollectionsAnswer(tuple(entries))


def collection(services: Services, call: CollectionCall) -> CollectionEntry:
    """Return a collection."""
    return collection_entry(services.collections.look_at(call.collection))


def put_collection(services: Services, call: DescribeCall) -> Reply:
    """Create a collection, or change the description of an existing one."""
    try:
        name = services.collections.create(call.collection, description=call.description or "")
    except ConflictError:
        try:
            entry = collection_entry(services.collections.look_at(call.collection))
        except NotIndexedError:
            entry = None
        if entry is None:  # it is being deleted
            raise
        if call.description is not None:
            services.collections.describe(call.collection, call.description)
            entry = entry._replace(description=call.description or None)
        return Reply(entry, _OK, {})
    return Reply(collection_entry(services.collections.look_at(name)), _CREATED, {"Location": f"{_PATH}/{name}"})


def delete_collection(services: Services, call: CollectionCall) -> Reply:
    """Delete a collection: at once for all clients, and from the disk when no process writes to it any more."""
    try:
        services.collections.delete(call.collection, seconds=_DELETION_SECONDS)
    except LockedError:
        services.background.want_removals()
        return Reply(None, _ACCEPTED, {})
    return Reply(None, _GONE, {})
