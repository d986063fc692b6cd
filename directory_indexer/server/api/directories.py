"""Operation `/api/v1/directories`: the directory breakdown of an index."""

from __future__ import annotations

from directory_indexer.config.collections import documents_of
from directory_indexer.lazy import lazily
from directory_indexer.searching.spread import spread
from directory_indexer.server.api.directory_arguments import DirectoriesCall
from directory_indexer.server.api.operations import Services
from directory_indexer.server.places import scope_of
from directory_indexer.wire.directories import DirectoryPart, directory_part

with lazily:
    from directory_indexer.docstore.store import Snapshot
    from directory_indexer.paths import FilePath


def directories(services: Services, call: DirectoriesCall) -> DirectoryPart:
    """Return the directory breakdown of the index.

    Raises:
        NotIndexedError: nothing is indexed at the path.
    """
    with services.collections.using(call.collection) as opened, opened.app.docstore.snapshot() as snapshot:
        own = documents_of(opened.app.loaded)
        usage = spread(snapshot, _within(snapshot, call.path), depth=call.depth, most=call.most, without=own)
    return directory_part(usage)


def _within(snapshot: Snapshot, path: str) -> FilePath | None:
    return next(iter(scope_of(snapshot, path)), None)
