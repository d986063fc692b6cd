"""What a call asks for: in which collections, where in each of them, and under which conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from directory_indexer.config.collections import DEFAULT
from directory_indexer.lazy import lazily
from directory_indexer.notes import Note
from directory_indexer.paths import FilePath
from directory_indexer.searching.answers import SearchRequest, SearchResult
from directory_indexer.searching.conditions import metadata_conditions, since_moment, until_moment
from directory_indexer.server.arguments import SearchArguments, SimilarArguments
from directory_indexer.server.client_roots import roots_indexed, roots_note
from directory_indexer.server.places import scope_of
from directory_indexer.team.search import with_senders
from directory_indexer.wire.cursors import Position, position_of

with lazily:
    from directory_indexer.searching.answers import Hit
    from directory_indexer.team.opened import OpenCollection

EXCERPT_CHARS = 800
"""More than a person skims: an assistant asks less often for the text around an excerpt."""


def collections_named(call: Any) -> tuple[str, ...]:
    """Name the collections that a call is about, whether it can name one or several."""
    return getattr(call, "collections", ()) or (getattr(call, "collection", DEFAULT),)


def question_of(call: SearchArguments, *, embedding_ms: int) -> tuple[SearchRequest, Position]:
    """Tell what a call asks for, but for where, and with which hit it goes on.

    Raises:
        UsageError: it cannot be meant.
    """
    position = position_of(call.cursor, question=call._replace(cursor="", limit=0, max_tokens=0, all=False))
    request = SearchRequest(
        query=call.query,
        queries=call.queries,
        mode=call.mode,
        limit=position.limit(call.limit),
        kinds=call.types,
        globs=call.globs,
        since=since_moment(call.since, name="since"),
        until=until_moment(call.until, name="until"),
        metadata=_conditions(call),
        only_good=not call.all,
        excerpt_chars=EXCERPT_CHARS,
        embedding_seconds=embedding_ms / 1000,
    )
    return request, position


def place_named(call: Any) -> str:
    """Give the place in which a call looks, if it names one; the path of `similar_files` is what it is about."""
    return str(call.within if isinstance(call, SimilarArguments) else call.path)


class Looked(NamedTuple):
    """Where in a collection a call looks, and what to say of that and of what changed there."""

    scope: tuple[FilePath, ...]
    notes: tuple[Note, ...]


def look_at(opened: OpenCollection, path: str) -> Looked:
    """Tell where a call looks that names this place or none, and bring in what changed there.

    Raises:
        NotIndexedError: nothing is indexed there.
    """
    looked = as_it_is(opened, path)
    return looked._replace(notes=(*opened.app.refresh(looked.scope), *looked.notes))


def as_it_is(opened: OpenCollection, path: str) -> Looked:
    """Tell where a call looks that names this place or none, and leave the index as it is.

    Raises:
        NotIndexedError: nothing is indexed there.
    """
    scope = scope_at(opened, path)
    return Looked(scope, tuple(map(Note, roots_note(scope))) if _means_roots(opened, path) else ())


Look: TypeAlias = "Callable[[OpenCollection, str], Looked]"


def scope_at(opened: OpenCollection, path: str) -> tuple[FilePath, ...]:
    """Give what a path means in a collection; without one, it is where the client works.

    Raises:
        NotIndexedError: nothing is indexed there.
    """
    with opened.app.docstore.snapshot() as snapshot:
        return roots_indexed(snapshot) if _means_roots(opened, path) else scope_of(snapshot, path)


def search_in(opened: OpenCollection, request: SearchRequest, path: str, *, look: Look = look_at) -> SearchResult:
    """Answer a request from a collection, at a path in it, after a look for what changed there."""
    scope, notes = look(opened, path)
    result = opened.app.searcher.search(request._replace(scope=scope))
    return result._replace(summary=opened.app.status.checked(result.summary), notes=(*notes, *result.notes))


def _means_roots(opened: OpenCollection, path: str) -> bool:
    """Tell whether a call looks where the client said that the user works; its paths are of the default collection."""
    return not path and opened.name == DEFAULT


def placed(opened: OpenCollection, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Say of hits in which collection they are, if it is not the default one, and in which documents that were sent."""
    named = "" if opened.name == DEFAULT else opened.name
    return tuple(hit._replace(collection=named) for hit in with_senders(opened, hits))


def _conditions(call: SearchArguments) -> tuple[tuple[str, str], ...]:
    given = {field: value for field in _FACTS if (value := getattr(call, field))}
    names = {name: field for field, name in _FACTS.items()}
    return metadata_conditions({_FACTS[field]: [value] for field, value in given.items()}, names=names)


_FACTS = {
    "author": "author",
    "language": "lang",
    "tag": "tag",
    "sender": "from",
    "recipient": "to",
    "subject": "subject",
    "created": "created",
}
"""The arguments that ask for what documents say about themselves, and what that is called in the index."""
