"""Preconditions of a search, and warnings about parts of its query that cannot match and of its scope that are missing.

Queries are never rejected. Of files outside the index that a query may be about, only the paths are known, so they are
reported beside an answer that found little. Warnings about the scope have the command that lists the parts.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from directory_indexer.core.errors import IndexMismatchError, NotIndexedError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note, NoteKind
from directory_indexer.core.paths import FilePath, display, lies_in
from directory_indexer.formats.kinds import GROUPS, kind_for_alias, kind_names
from directory_indexer.ranking.analyzer import extra_words, is_gram, split_into_words
from directory_indexer.ranking.languages import is_function_word
from directory_indexer.ranking.query import Filters, Query, WordKind, parse_query
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.search.scope import Scope, path_tests, resolve_scope
from directory_indexer.storage.documents.incomplete_files import CoverageGap
from directory_indexer.storage.documents.store import Snapshot

with lazily:
    import difflib

    from directory_indexer.search.background import OnDemandEmbedder


_DATE_FILTERS = ("since:", "until:")
_MAX_CODE_LENGTH = 3
_MAX_SIMILAR = 6
_ONLY_EXCLUDES_NOTE = (
    "the query only says what to leave out: add what to look for; a word that begins with a hyphen is found in quotes"
)


def query_warnings(query: Query, scope: Scope, *, is_named: bool = False) -> tuple[str, ...]:
    """Return which parts of a query cannot match, and why; paths of a query with named files do match."""
    return tuple(_notes(query, scope, is_named=is_named))


def drop_void_filters(snapshot: Snapshot, query: Query) -> tuple[Query, tuple[str, ...]]:
    """Return a query in which filters that no file meets are words, and a note on each of them.

    Pasted code and logs contain `from:` and `path:` without meaning filters. A date, a known type and the code of a
    language are always filters.
    """
    filters = {
        written: query_of_filter
        for part in (query, *chain.from_iterable(query.alternatives))
        for written, query_of_filter in _written_filters_in(part.required)
        if not _is_deliberate_filter(written)
    }
    void = [
        written
        for written, query_of_filter in filters.items()
        if resolve_scope(snapshot, SearchRequest(""), query_of_filter).is_empty
    ]
    if not void:
        return query, ()
    return parse_query(query.text, as_words=frozenset(void)), tuple(map(_note_of_void_filter, void))


def _written_filters_in(required: Filters) -> Iterator[tuple[str, Query]]:
    """Yield each filter as it is written, with a query that has no other."""
    filters = [
        *((f"path:{text}", Filters(paths=(text,))) for text in required.paths),
        *((f"type:{text}", Filters(kinds=(text,))) for text in required.kinds),
        *((f"{name}:{text}", Filters(metadata=((name, text),))) for name, text in required.metadata),
    ]
    yield from ((written, Query("", "", required=each)) for written, each in filters)


def _is_deliberate_filter(written: str) -> bool:
    field, _, text = written.partition(":")
    return (
        (field == "created" and text[:1].isdigit())
        or (field == "type" and _is_type(text))
        or (field == "lang" and len(text) <= _MAX_CODE_LENGTH)
    )


def _note_of_void_filter(written: str) -> str:
    field, _, text = written.partition(":")
    as_words = f"{written} is searched for as words"
    match field:
        case "path":
            return f"no indexed file has '{text}' in its path: {as_words}"
        case "type" if not _is_type(text):
            return f"{as_words}, since there is no type '{text}'; {_suggest_types(text)}"
        case _:
            return f"no indexed file has {field} '{text}': {as_words}"


def require_types(names: tuple[str, ...]) -> None:
    """Raise an error if one of the types does not exist.

    Raises:
        UsageError: one of them is unknown.
    """
    for name in names:
        if not _is_type(name):
            raise UsageError(f"unknown type '{name}'", hint=_suggest_types(name))


def _notes(query: Query, scope: Scope, *, is_named: bool) -> Iterator[str]:
    if any(map(_is_mixed, query.alternatives)):
        yield "OR stands between words or between filters: filters beside words in it are left out"
    if query.only_excludes:
        yield _ONLY_EXCLUDES_NOTE
    for name in query.forbidden.kinds:
        if not _is_type(name):
            yield f"unknown type '{name}' in the query; {_suggest_types(name)}"
    yield from _invalid_dates(query)
    if scope.is_empty and not is_named and (filters := _written_filters(query.required)):
        yield f"no indexed file here meets {' '.join(filters)}"


def _invalid_dates(query: Query) -> Iterator[str]:
    for word in query.words:
        if word.kind is not WordKind.PHRASE and word.text.lower().startswith(_DATE_FILTERS):
            yield f"{word.text} is searched for as words: a date is written as 7d, last week or 2026-01-31"


def _is_mixed(group: Sequence[Query]) -> bool:
    has_filters = any(any(branch.required._replace(headings=())) for branch in group)
    return has_filters and not all(branch.has_only_filters for branch in group)


def _is_type(name: str) -> bool:
    return name.lower() in GROUPS or kind_for_alias(name) is not None


def _suggest_types(name: str) -> str:
    similar = difflib.get_close_matches(name.lower(), (*GROUPS, *kind_names()), n=_MAX_SIMILAR)
    # Two swapped letters count as two mistakes in difflib, so a name with the same letters comes first.
    nearest = min(similar, key=lambda kind: (sorted(kind) != sorted(name.lower()), similar.index(kind)), default="")
    return f"did you mean {nearest}?" if nearest else f"types are languages and formats, and {', '.join(GROUPS)}"


def _written_filters(required: Filters) -> list[str]:
    dates = [("since", required.since), ("until", required.until), ("is", required.roles)]
    written = [filter_text for filter_text, _ in _written_filters_in(required)]
    return [*written, *(f"{name}:{text}" for name, texts in dates for text in texts)]


_MIN_PREFIX_LENGTH: Final = 3
"""A shorter prefix matches too many words."""


def scope_and_kind_test(snapshot: Snapshot, request: SearchRequest, query: Query) -> Callable[[FilePath], bool]:
    """Return a test whether a path is in the scope of a request, and of a requested kind."""
    is_in_scope = path_tests(snapshot, request, query)
    return lambda path: is_in_scope(path) and may_be_of_kind(path, request, query)


def name_test(query: Query) -> Callable[[FilePath], bool]:
    """Return a test whether the name of a file has a word that begins with one of a query."""
    tokens = tuple({token for word in query.words for token in word.tokens if _is_informative(token, query.language)})

    def has_prefix(path: FilePath) -> bool:
        name = os.path.basename(path)
        return any(word.startswith(tokens) for word in (*split_into_words(name), *extra_words(name)))

    return has_prefix


def _is_informative(token: str, language: str) -> bool:
    return is_gram(token) or (len(token) >= _MIN_PREFIX_LENGTH and not is_function_word(token, language))


_REASONS_ALWAYS_REPORTED: Final = {
    "failed": ("file that failed", "files that failed"),
    "too large": ("file too large", "files too large"),
    "encrypted": ("encrypted file", "encrypted files"),
    "no text": ("file without text", "files without text"),
    "waiting": ("scanned page that waits for OCR", "scanned pages that wait for OCR"),
    "unreadable": ("scanned page that OCR cannot read", "scanned pages that OCR cannot read"),
    "refused": ("passage that the provider refuses to embed", "passages that the provider refuses to embed"),
}
_REASONS_IF_WEAK: Final = {
    "binary": ("file of no known format", "files of no known format"),
    "secret": ("file left out as a secret", "files left out as secrets"),
    "broken link": ("broken link", "broken links"),
    "symbolic link": ("link that is not followed", "links that are not followed"),
    "not a regular file": ("file that is not regular", "files that are not regular"),
    "empty": ("empty file", "empty files"),
}
"""Usual in every tree, and relevant only to a search that finds nothing good."""


def scope_warnings(snapshot: Snapshot, request: SearchRequest, query: Query, *, is_weak: bool) -> Iterator[Note]:
    """Yield warnings on what no search can find within the scope of a request; more of them if no hit is good."""
    names = _reason_names(is_weak=is_weak, by_words=request.mode is SearchMode.KEYWORD)
    gaps = _gaps_in_scope(snapshot, names)
    if gaps:
        is_in_scope = path_tests(snapshot, request, query)
        gaps = [gap for gap in gaps if is_in_scope(gap.path) and may_be_of_kind(gap.path, request, query)]
    yield from _format_warnings(
        gaps, names, [root for root in snapshot.left_out.unfinished() if _is_in_scope(root, request)]
    )


def index_warnings(snapshot: Snapshot, *, is_weak: bool) -> Iterator[Note]:
    """Yield the same warnings for the whole index and a keyword search."""
    names = _reason_names(is_weak=is_weak, by_words=True)
    yield from _format_warnings(_gaps_in_scope(snapshot, names), names, snapshot.left_out.unfinished())


def may_be_of_kind(path: FilePath, request: SearchRequest, query: Query) -> bool:
    """Whether a file may be of a requested kind; if its name does not show its kind, it may."""
    kinds = {*request.kinds, *query.required.kinds}
    kind = kind_for_alias(os.path.splitext(path)[1]) if kinds else None
    return kind is None or any(kind in (GROUPS.get(name.lower()) or {kind_for_alias(name)}) for name in kinds)


def _reason_names(*, is_weak: bool, by_words: bool) -> dict[str, tuple[str, str]]:
    names = {**_REASONS_ALWAYS_REPORTED, **(_REASONS_IF_WEAK if is_weak else {})}
    if by_words:
        del names["refused"]
    return names


def _gaps_in_scope(snapshot: Snapshot, names: dict[str, tuple[str, str]]) -> list[CoverageGap]:
    return [gap for gap in snapshot.left_out.gaps(tuple(names)) if gap.reason in names]


def _format_warnings(
    gaps: Iterable[CoverageGap], names: dict[str, tuple[str, str]], unfinished: Iterable[FilePath]
) -> Iterator[Note]:
    if counted := list(_format_counts(gaps, names)):
        yield Note(f"missing here: {', '.join(counted)}", NoteKind.MISSING, "dirindex status -v names them")
    if roots := ", ".join(map(display, unfinished)):
        note = f"the first run over {roots} has not ended"
        yield Note(note, NoteKind.UNFINISHED, "dirindex status tells how far it is")


def _format_counts(gaps: Iterable[CoverageGap], names: dict[str, tuple[str, str]]) -> Iterator[str]:
    counts = Counter[str]()
    for gap in gaps:
        counts[gap.reason] += gap.number
    for reason, (singular, plural) in names.items():
        if counts[reason]:
            yield f"{counts[reason]:,} {singular if counts[reason] == 1 else plural}"


def _is_in_scope(root: FilePath, request: SearchRequest) -> bool:
    return not request.scope or any(lies_in(root, path) or lies_in(path, root) for path in request.scope)


def require_indexed(snapshot: Snapshot, scope: tuple[FilePath, ...]) -> None:
    """Raise an error if nothing was ever indexed there, instead of returning no hits.

    Raises:
        NotIndexedError: no directory is tracked, or none that overlaps the scope.
    """
    tracked = snapshot.directories.all()
    if not tracked:
        raise NotIndexedError("nothing is indexed yet", hint="dirindex index PATH adds a directory")
    for path in scope:
        if not snapshot.files.holds(path):
            names = ", ".join(map(display, tracked))
            raise NotIndexedError(f"nothing is indexed at {display(path)}", hint=f"indexed directories: {names}")


def require_comparable(snapshot: Snapshot, n_dimensions: int) -> None:
    """Raise an error if the vectors of the index have another number of dimensions.

    Raises:
        IndexMismatchError: the numbers differ.
    """
    space = snapshot.vector_sets.answering().space
    if space is not None and space.dimensions != n_dimensions:
        raise IndexMismatchError(
            f"the index holds vectors of {space.dimensions} dimensions, and {space.name} makes {n_dimensions} now",
            hint="configure the model that made the index; dirindex doctor tells more",
        )


def embedding_warnings(
    snapshot: Snapshot, scopes: Sequence[Scope], making: OnDemandEmbedder | None = None
) -> Iterator[Note]:
    """Yield warnings on passages of these scopes without vectors, and on those embedded during the search."""
    former = snapshot.vector_sets.former()
    if former is not None and former.space is not None:
        # The new vectors answer once every chunk of the index has one.
        n_waiting, n_total = snapshot.embedding_queue.count(), snapshot.chunks.count()
        status = f"{n_waiting:,} of all {n_total:,} passages {'wait' if n_waiting > 1 else 'waits'}"
        note = f"{status} to be embedded again; until then {former.space.name} answers"
        yield Note(note, NoteKind.EMBEDDING)
        return
    holders = _holder_ids(scopes)
    if n_waiting := snapshot.chunks.count_waiting(holders):
        n_chunks = snapshot.chunks.count_chunks_of_holders(holders)
        passages = "the passages there" if n_chunks is None else f"{n_chunks:,} passage{'s' if n_chunks > 1 else ''}"
        are = "are" if n_waiting > 1 else "is"
        note = f"{n_waiting:,} of {passages} {are} not embedded yet: {_vectors_made_so_far(making)}"
        yield Note(note, NoteKind.EMBEDDING, key=f"not all of {passages} are embedded yet")


def _holder_ids(scopes: Sequence[Scope]) -> frozenset[int] | None:
    """Return the files that hold the texts of scopes; None for all files."""
    parts = [scope.holder_ids for scope in scopes if scope.holder_ids is not None]
    return frozenset().union(*parts) if len(parts) == len(scopes) else None


def _vectors_made_so_far(embedder: OnDemandEmbedder | None) -> str:
    if embedder is None or not embedder.embedded:
        return "they are found by words alone"
    n_others = len(embedder.not_embedded - embedder.embedded)
    were = "was" if len(embedder.embedded) == 1 else "were"
    rest = f", and {n_others} by words alone" if n_others else ""
    return f"{len(embedder.embedded)} of them {were} judged by meaning for this question{rest}"
