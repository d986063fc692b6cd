"""Which files a search may draw on, decided before anything is ranked."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from directory_indexer.docstore.snapshot import within_condition
from directory_indexer.extractors.kinds import GROUPS, kind_for_alias
from directory_indexer.records import VectorScope, os_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from directory_indexer.docstore import Snapshot
    from directory_indexer.records import FilePath, SearchRequest
    from directory_indexer.relevance.query import Query

_NAMED_FILES = 256
"""So many files are named to the vector store one by one; of more, its answers are filtered as they come."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The files of a search; `file_ids` is None when every file is in it."""

    file_ids: frozenset[int] | None
    vectors: VectorScope

    @property
    def is_empty(self) -> bool:
        """Tell that no file is in the scope."""
        return self.file_ids is not None and not self.file_ids

    @property
    def file_ids_json(self) -> str | None:
        """Give the files as a JSON array, the form in which SQLite takes a list of any length."""
        return None if self.file_ids is None else json.dumps(sorted(self.file_ids))


def resolve_scope(snapshot: Snapshot, request: SearchRequest, query: Query) -> Scope:
    """Find the files that satisfy the options of a request and the filters within its query."""
    condition, arguments = _condition(request, query)
    is_wanted = _path_test(request, query)
    if condition == "1" and is_wanted is None:
        return Scope(None, VectorScope())
    files = snapshot.files_in_scope(condition, arguments)
    if is_wanted is not None:
        files = [(id_, path) for id_, path in files if is_wanted(os_path(path))]
    ids = frozenset(id_ for id_, _ in files)
    if len(files) <= _NAMED_FILES:
        return Scope(ids, VectorScope(files=tuple(path for _, path in files)))
    return Scope(ids, VectorScope(directories=_tracked_parts(snapshot, request.scope)))


def _tracked_parts(snapshot: Snapshot, scope: Iterable[FilePath]) -> tuple[FilePath, ...]:
    """Give directories that are tracked or lie in tracked ones: in the place of one above them, those below it."""
    tracked = snapshot.directories()
    parts: list[FilePath] = []
    for path in scope:
        below = [root for root in tracked if root.startswith(path.rstrip(os.sep) + os.sep)]
        parts += below or [path]
    return tuple(parts)


def _condition(request: SearchRequest, query: Query) -> tuple[str, list[object]]:
    clauses: list[str] = []
    arguments: list[object] = []

    def add(clause: str, values: Iterable[object]) -> None:
        clauses.append(clause)
        arguments.extend(values)

    within = [within_condition(path) for path in request.scope]
    if within:
        add(" OR ".join(clause for clause, _ in within), [value for _, values in within for value in values])
    for names, negation in ((request.kinds, ""), (query.required.kinds, ""), (query.forbidden.kinds, "NOT")):
        if names:
            kinds = sorted(_kinds_named(names))
            add(f"f.kind {negation} IN ({', '.join('?' * len(kinds))})", kinds)
    if request.modified_since is not None:
        add("f.mtime_ns >= ?", [int(request.modified_since * 1e9)])
    return " AND ".join(f"({clause})" for clause in clauses) or "1", arguments


def _kinds_named(names: Iterable[str]) -> set[str]:
    """Find the kinds that people mean by `py`, `markdown` or `code`; an unknown name stands for itself."""
    kinds: set[str] = set()
    for name in names:
        kinds |= GROUPS.get(name.lower()) or {kind_for_alias(name) or name}
    return kinds


def _path_test(request: SearchRequest, query: Query) -> Callable[[str], bool] | None:
    tests = [_any_glob(request.globs)] if request.globs else []
    tests += [_contains(text) for text in query.required.paths]
    tests += [_lacks(text) for text in query.forbidden.paths]
    return (lambda path: all(test(path) for test in tests)) if tests else None


def _any_glob(globs: Iterable[str]) -> Callable[[str], bool]:
    """Match as .gitignore does: a pattern without a slash matches names at any depth, `!` takes back."""
    # Half a dozen milliseconds, which only a search with patterns should pay.
    import pathspec  # noqa: PLC0415

    return pathspec.GitIgnoreSpec.from_lines(globs).match_file


def _contains(text: str) -> Callable[[str], bool]:
    if any(sign in text for sign in "*?["):
        return _any_glob([text])
    wanted = text.replace("/", os.sep).casefold()
    return lambda path: wanted in path.casefold()


def _lacks(text: str) -> Callable[[str], bool]:
    test = _contains(text)
    return lambda path: not test(path)
