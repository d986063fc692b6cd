"""Warnings about parts of a query that cannot match, and about files outside the index that it may refer to.

Queries are never rejected. Of the files outside, only the paths are known, so they are reported beside an answer that
found little.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.kinds import GROUPS, kind_for_alias, kind_names
from directory_indexer.ranking.analyzer import extra_words, is_gram, split_into_words
from directory_indexer.ranking.filter_fields import FIELDS
from directory_indexer.ranking.languages import is_function_word
from directory_indexer.ranking.query import Filters, Query, WordKind, parse_query
from directory_indexer.ranking.query_syntax import ROLES
from directory_indexer.search.coverage_warnings import may_be_of_kind
from directory_indexer.search.requests import SearchRequest
from directory_indexer.search.scope import Scope, make_path_predicate, resolve_scope
from directory_indexer.storage.documents.store import Snapshot

with lazily:
    import difflib


_DATE_FILTERS = ("since:", "until:")
_MAX_CODE_LENGTH = 3
_MAX_SIMILAR = 6
_MIN_LIKENESS_OF_TYPES = 0.6
_MIN_LIKENESS_IF_OTHER_LETTERS = 0.7
"""At 0.66, `foo` would be taken for the name of a kind, `for`."""

_MIN_LIKENESS = 0.85
"""At 0.8, `its:` would be taken for `is:`, and `too:` for `to:`; at 0.75, `form:` for `from:`."""
_FIELD_NAMES = tuple(field.word for field in FIELDS)
_TYPE_ELSEWHERE = frozenset({"ext", "extension", "filetype", "format", "kind", "language"})
"""The names of the filter `type` in other programs, and in the answers of this one."""

_ONLY_EXCLUDES_NOTE = (
    "the query only says what to leave out: add what to look for; a word that begins with a hyphen is found in quotes"
)


def query_warnings(
    snapshot: Snapshot, request: SearchRequest, query: Query, scope: Scope, *, is_named: bool = False
) -> tuple[str, ...]:
    """Return which parts of a query cannot match, and why; paths of a query with named files do match."""
    filters = _filters_without_files(snapshot, request, query) if scope.is_empty and not is_named else ""
    return (*_notes(query), *([f"no indexed file here meets {filters}"] if filters else []))


def drop_unmatched_filters(snapshot: Snapshot, query: Query) -> tuple[Query, tuple[str, ...]]:
    """Return a query in which filters that match no file are treated as words, with a note on each.

    Pasted code and logs contain `from:` and `path:` without meaning filters. A date, a known type and the code of a
    language are always filters.
    """
    filters = {
        written: Query("", "", required=required)
        for part in (query, *chain.from_iterable(query.alternatives))
        for written, required in _written_filters_in(part.required)
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


def _written_filters_in(filters: Filters) -> Iterator[tuple[str, Filters]]:
    """Yield each filter on files as it is written, with filters that have no other."""
    yield from ((f"path:{text}", Filters(paths=(text,))) for text in filters.paths)
    yield from ((f"type:{text}", Filters(kinds=(text,))) for text in filters.kinds)
    yield from ((f"{name}:{text}", Filters(metadata=((name, text),))) for name, text in filters.metadata)
    yield from ((f"since:{text}", Filters(since=(text,))) for text in filters.since)
    yield from ((f"until:{text}", Filters(until=(text,))) for text in filters.until)
    yield from ((f"is:{text}", Filters(roles=(text,))) for text in filters.roles)


def _filters_without_files(snapshot: Snapshot, request: SearchRequest, query: Query) -> str:
    """Return the filters that no file in the scope of a request meets, or else all of them, as they are written.

    It is "" if only alternatives may exclude all files.
    """
    nothing, anywhere = Query("", ""), SearchRequest("", scope=request.scope)
    filters = {
        **{text: (anywhere, nothing._replace(required=each)) for text, each in _written_filters_in(query.required)},
        **{
            f"-{text}": (anywhere, nothing._replace(forbidden=each))
            for text, each in _written_filters_in(query.forbidden)
        },
        **{text: (alone, nothing) for text, alone in _given_filters(request, anywhere)},
    }
    void = [text for text, (alone, each) in filters.items() if resolve_scope(snapshot, alone, each).is_empty]
    return " ".join(void or ([] if query.alternatives else filters))


def _given_filters(request: SearchRequest, anywhere: SearchRequest) -> Iterator[tuple[str, SearchRequest]]:
    """Yield each filter that is no part of the query, with a request that has no other."""
    if request.kinds:
        yield " OR ".join(f"type:{kind}" for kind in request.kinds), anywhere._replace(kinds=request.kinds)
    if request.globs:
        yield " ".join(request.globs), anywhere._replace(globs=request.globs)
    for name, text in request.metadata:
        yield f"{name}:{text}", anywhere._replace(metadata=((name, text),))
    if request.since is not None:
        yield f"since:{_day(request.since)}", anywhere._replace(since=request.since)
    if request.until is not None:
        yield f"until:{_day(request.until - 1)}", anywhere._replace(until=request.until)


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(moment))


def _is_deliberate_filter(written: str) -> bool:
    field, _, text = written.partition(":")
    return (
        field in ("since", "until", "is")
        or (field == "created" and text[:1].isdigit())
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


def require_known_types(names: tuple[str, ...]) -> None:
    """Raise an error if one of the types does not exist.

    Raises:
        UsageError: one of them is unknown.
    """
    for name in names:
        if not _is_type(name):
            raise UsageError(f"unknown type '{name}'", hint=_suggest_types(name))


def _notes(query: Query) -> Iterator[str]:
    if any(map(_is_mixed, query.alternatives)):
        yield "OR stands between words or between filters: filters beside words in it are left out"
    if query.only_excludes:
        yield _ONLY_EXCLUDES_NOTE
    for name in query.forbidden.kinds:
        if not _is_type(name):
            yield f"unknown type '{name}' in the query; {_suggest_types(name)}"
    yield from _invalid_values(query)
    yield from _misspelt_fields(query)


def _invalid_values(query: Query) -> Iterator[str]:
    for word in query.words:
        field, colon, text = word.text.lower().partition(":")
        if word.kind is not WordKind.PHRASE and f"{field}{colon}" in _DATE_FILTERS:
            yield f"{word.text} is searched for as words: a date is written as 7d, last week or 2026-01-31"
        if word.kind is not WordKind.PHRASE and field == "is" and text:
            nearest = _nearest(text, ROLES, cutoff=_MIN_LIKENESS_OF_TYPES)
            advice = f"did you mean is:{nearest}?" if nearest else f"there are is:{' and is:'.join(ROLES)}"
            yield f"{word.text} is searched for as words; {advice}"


def _misspelt_fields(query: Query) -> Iterator[str]:
    for word in query.words:
        name, _, text = word.text.lower().partition(":")
        if not text or word.kind is WordKind.PHRASE or name in _FIELD_NAMES:
            continue
        is_type = name in _TYPE_ELSEWHERE and _is_type(text)
        if field := "type" if is_type else _nearest(name, _FIELD_NAMES, cutoff=_MIN_LIKENESS):
            value = text if field != "type" or _is_type(text) else _nearest_type(text) or text
            yield f"{word.text} is searched for as words; did you mean {field}:{value}?"


def _is_mixed(group: Sequence[Query]) -> bool:
    has_filters = any(any(branch.required._replace(headings=())) for branch in group)
    return has_filters and not all(branch.has_only_filters for branch in group)


def _is_type(name: str) -> bool:
    return name.lower() in GROUPS or kind_for_alias(name) is not None


def _suggest_types(name: str) -> str:
    nearest = _nearest_type(name)
    return f"did you mean {nearest}?" if nearest else f"types are languages and formats, and {', '.join(GROUPS)}"


def _nearest_type(name: str) -> str:
    typed, names = name.lower(), (*GROUPS, *kind_names())
    nearest = _nearest(typed, names, cutoff=_MIN_LIKENESS_OF_TYPES)
    return (
        nearest if sorted(nearest) == sorted(typed) else _nearest(typed, names, cutoff=_MIN_LIKENESS_IF_OTHER_LETTERS)
    )


def _nearest(name: str, names: Sequence[str], *, cutoff: float) -> str:
    """Return the name that is most like what was typed, or ""."""
    similar = difflib.get_close_matches(name, names, n=_MAX_SIMILAR, cutoff=cutoff)
    # Two swapped letters count as two mistakes in difflib, so a name with the same letters comes first.
    return min(similar, key=lambda near: (sorted(near) != sorted(name), similar.index(near)), default="")


_MIN_PREFIX_LENGTH: Final = 3
"""A shorter prefix matches too many words."""


def make_scope_and_kind_predicate(
    snapshot: Snapshot, request: SearchRequest, query: Query
) -> Callable[[FilePath], bool]:
    """Return the predicate that tells whether a path is in the scope of a request and may be of a requested kind."""
    is_in_scope = make_path_predicate(snapshot, request, query)
    return lambda path: is_in_scope(path) and may_be_of_kind(path, request, query)


def make_name_predicate(query: Query) -> Callable[[FilePath], bool]:
    """Return the predicate that tells whether a file name has a word that begins with a word of a query."""
    tokens = tuple({token for word in query.words for token in word.tokens if _is_informative(token, query.language)})

    def has_prefix(path: FilePath) -> bool:
        name = os.path.basename(path)
        return any(word.startswith(tokens) for word in (*split_into_words(name), *extra_words(name)))

    return has_prefix


def _is_informative(token: str, language: str) -> bool:
    return is_gram(token) or (len(token) >= _MIN_PREFIX_LENGTH and not is_function_word(token, language))
