"""`/api/v1/collections`: which there are for whoever asks, and making and deleting them."""

from __future__ import annotations

from directory_indexer.errors import ConflictError, LockedError, NotIndexedError
from directory_indexer.server.api.arguments import CollectionCall, DescribeCall, NoArguments
from directory_indexer.server.api.operations import Reply, Services
from directory_indexer.wire.team import CollectionEntry, CollectionsAnswer, collection_entry

_CREATED, _OK, _ACCEPTED, _GONE = 201, 200, 202, 204
_PATH = "/api/v1/collections"
_PATIENCE_SECONDS = 20.0


def collections(services: Services, _: NoArguments) -> CollectionsAnswer:
    """Tell how the collections stand that are there for whoever asks."""
    found: list[CollectionEntry] = []
    for name in services.collections.names():
        if services.reaches(name):
            try:
                found.append(collection_entry(services.collections.look_at(name)))
            except NotIndexedError:  # it was deleted meanwhile
                continue
    return CollectionsAnswer(tuple(found))


def collection(services: Services, call: CollectionCall) -> CollectionEntry:
    """Tell how a collection stands."""
    return collection_entry(services.collections.look_at(call.collection))


def put_collection(services: Services, call: DescribeCall) -> Reply:
    """Make a collection, or say something else of one that there is."""
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
    """Delete a collection: at once for everybody, and from the disk when nobody writes to it any more."""
    try:
        services.collections.delete(call.collection, seconds=_PATIENCE_SECONDS)
    except LockedError:
        services.background.want_removals()
        return Reply(None, _ACCEPTED, {})
    return Reply(None, _GONE, {})
