"""What a query asks for in vain: no query is wrong, so what cannot be meant is said beside the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from directory_indexer.docstore.filters import ALL_FILES
from directory_indexer.docstore.store import Snapshot
from directory_indexer.errors import UsageError
from directory_indexer.extractors.kinds import GROUPS, kind_for_alias, kind_names
from directory_indexer.lazy import lazily
from directory_indexer.relevance.query import Query, WordKind
from directory_indexer.searching.scope import Scope, contains

with lazily:
    import difflib

_DATE_FILTERS = ("since:", "until:")
_ONLY_EXCLUDES = (
    "the query only says what to leave out: add what to look for; a word that begins with a hyphen is found in quotes"
)


def notes_on(snapshot: Snapshot, query: Query, scope: Scope, *, is_named: bool = False) -> tuple[str, ...]:
    """Say which parts of a query cannot find anything, and why; its paths find something if files without text do."""
    return tuple(_notes(snapshot, query, scope, is_named=is_named))


def require_types(names: tuple[str, ...]) -> None:
    """Refuse a request for types that there are not.

    Raises:
        UsageError: one of them is unknown.
    """
    for name in names:
        if not _is_type(name):
            raise UsageError(f"unknown type '{name}'", hint=_near_types(name))


def _notes(snapshot: Snapshot, query: Query, scope: Scope, *, is_named: bool) -> Iterator[str]:
    if any(map(_is_mixed, query.alternatives)):
        yield "OR stands between words or between filters: filters beside words in it are left out"
    if query.only_excludes:
        yield _ONLY_EXCLUDES
    for name in (*query.required.kinds, *query.forbidden.kinds):
        if not _is_type(name):
            yield f"unknown type '{name}' in the query; {_near_types(name)}"
    yield from _misread_dates(query)
    if scope.is_empty and not is_named:
        for text in query.required.paths:
            if not _is_in_a_path(snapshot, text):
                yield f"no indexed file has '{text}' in its path"


def _misread_dates(query: Query) -> Iterator[str]:
    for word in query.words:
        if word.kind is not WordKind.PHRASE and word.text.lower().startswith(_DATE_FILTERS):
            yield f"{word.text} is searched for as words: a date is written as 7d, 2w, 6m, 2026-01 or 2026-01-31"


def _is_mixed(group: Sequence[Query]) -> bool:
    has_filters = any(any(one.required._replace(headings=())) for one in group)
    return has_filters and not all(one.has_only_filters for one in group)


def _is_type(name: str) -> bool:
    return name.lower() in GROUPS or kind_for_alias(name) is not None


def _near_types(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), (*GROUPS, *kind_names()), n=1)
    return f"did you mean {near[0]}?" if near else f"types are languages and formats, and {', '.join(GROUPS)}"


def _is_in_a_path(snapshot: Snapshot, text: str) -> bool:
    tests = {id_: contains(text, root) for root, id_ in snapshot.directories.all().items()}
    return any(tests[file.directory_id](file.path) for file in snapshot.files.matching(ALL_FILES))
