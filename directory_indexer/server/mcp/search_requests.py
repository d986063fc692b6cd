"""Search requests of calls: collections, scope within each, and conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from directory_indexer.api.cursors import Position, parse_cursor
from directory_indexer.collections.search import add_ids_and_drop_deleted
from directory_indexer.config.collections import DEFAULT
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note
from directory_indexer.core.paths import FilePath
from directory_indexer.ranking.filter_fields import ARGUMENT_FIELDS
from directory_indexer.search.requests import (
    SearchRequest,
    SearchResult,
    metadata_conditions,
    parse_since,
    parse_until,
)
from directory_indexer.server.mcp.arguments import SearchCall, SimilarArguments
from directory_indexer.server.mcp.clients import client_roots_note, indexed_client_roots
from directory_indexer.server.path_resolution import directories_of_scope

with lazily:
    from directory_indexer.collections.collections import OpenCollection
    from directory_indexer.search.requests import Hit

EXCERPT_CHARS = 800
"""Longer than for people: an assistant then requests the surrounding text less often."""


def collections_of_call(call: Any) -> tuple[str, ...]:
    """Return the collections of a call, whether its arguments allow one or several."""
    return getattr(call, "collections", ()) or (getattr(call, "collection", DEFAULT),)


def parse_search_call(call: SearchCall, *, embedding_ms: int) -> tuple[SearchRequest, Position]:
    """Return the search request of a call without its scope, and the position of its cursor.

    Raises:
        UsageError: the call is invalid.
    """
    position = parse_cursor(call.cursor, question=call._replace(**_DEFAULT_PRESENTATION))
    request = SearchRequest(
        query=call.query,
        queries=call.queries,
        mode=call.mode,
        limit=position.limit(call.limit),
        kinds=call.types,
        globs=call.globs,
        since=parse_since(call.since, name="since"),
        until=parse_until(call.until, name="until"),
        metadata=_metadata_conditions(call),
        only_good=not call.all,
        excerpt_chars=EXCERPT_CHARS,
        embedding_seconds=embedding_ms / 1000,
    )
    return request, position


_DEFAULT_PRESENTATION: Final[Mapping[str, Any]] = {
    name: SearchCall._field_defaults[name]
    for name in ("cursor", "limit", "max_tokens", "all", "full", "explain", "sort", "prefix", "refresh")
}
"""Arguments that may differ from page to page of an answer."""


def path_of_call(call: Any) -> str:
    """Return the path that a call is restricted to; for `similar_files` that is `within`."""
    return str(call.within if isinstance(call, SimilarArguments) else call.path)


class ResolvedScope(NamedTuple):
    """The resolved scope of a call in a collection, with notes about it and about changes there."""

    scope: tuple[FilePath, ...]
    notes: tuple[Note, ...]


def resolve_scope_refreshing(opened: OpenCollection, path: str) -> ResolvedScope:
    """Resolve the scope of a call with this path, if any, and refresh the index there.

    Raises:
        NotIndexedError: nothing is indexed there.
    """
    resolved = resolve_scope(opened, path)
    return resolved._replace(notes=(*opened.app.refresh(resolved.scope), *resolved.notes))


def resolve_scope(opened: OpenCollection, path: str) -> ResolvedScope:
    """Resolve the scope of a call with this path, if any, without refreshing the index.

    Raises:
        NotIndexedError: nothing is indexed there.
    """
    scope = resolve_path_or_roots(opened, path)
    return ResolvedScope(scope, tuple(map(Note, client_roots_note(scope))) if _uses_client_roots(opened, path) else ())


ScopeResolver: TypeAlias = "Callable[[OpenCollection, str], ResolvedScope]"


def resolve_path_or_roots(opened: OpenCollection, path: str) -> tuple[FilePath, ...]:
    """Resolve a path in a collection; without one, the scope is the roots of the client.

    Raises:
        NotIndexedError: nothing is indexed there.
    """
    with opened.app.docstore.snapshot() as snapshot:
        return (
            indexed_client_roots(snapshot) if _uses_client_roots(opened, path) else directories_of_scope(snapshot, path)
        )


def search_in(
    opened: OpenCollection, request: SearchRequest, path: str, *, resolve: ScopeResolver = resolve_scope_refreshing
) -> SearchResult:
    """Search a collection at a path, after the scope is resolved by `resolve`."""
    scope, notes = resolve(opened, path)
    result = opened.app.searcher.search(request._replace(scope=scope))
    return result._replace(summary=opened.app.status.checked(result.summary), notes=(*notes, *result.notes))


def _uses_client_roots(opened: OpenCollection, path: str) -> bool:
    """Whether a call is restricted to the roots of the client: only in the default collection, and without a path."""
    return not path and opened.name == DEFAULT


def add_collection_names(opened: OpenCollection, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return hits with their collection, unless it is the default one, and with their sent documents."""
    name = "" if opened.name == DEFAULT else opened.name
    return tuple(hit._replace(collection=name) for hit in add_ids_and_drop_deleted(opened, hits))


def _metadata_conditions(call: SearchCall) -> tuple[tuple[str, str], ...]:
    values = {field.word: [value] for field in ARGUMENT_FIELDS if (value := getattr(call, field.argument))}
    return metadata_conditions(values, names={field.word: field.argument for field in ARGUMENT_FIELDS})
