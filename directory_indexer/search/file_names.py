"""Search for files and directories by name; those that a query names rank before hits in texts.

A file with text is represented by its best passage, or else its first; one whose whole name is the query, only by a
passage that has all of its words. Files without text and directories have no passages: a directory is represented by a
list of its files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product, starmap, takewhile
from operator import itemgetter
from typing import Final, NamedTuple

from directory_indexer.core.files import DIRECTORY
from directory_indexer.core.ids import ContentHash, new_chunk_id
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, lies_in, prefix_of
from directory_indexer.formats.document import FileFacts
from directory_indexer.formats.kinds import kind_for_alias
from directory_indexer.ranking.analyzer import extra_words, split_into_words
from directory_indexer.ranking.candidates import DEFINITION_SIGNAL, NO_EXPLANATION, Excerpt
from directory_indexer.ranking.name_match import NameMatch, TypedName, name_match, typed_names
from directory_indexer.ranking.ordering import Ranked
from directory_indexer.ranking.plan import plan_match
from directory_indexer.ranking.query import Query
from directory_indexer.ranking.spelling import edit_distance, max_errors, may_be_misspelt
from directory_indexer.search.coverage_warnings import may_be_of_kind
from directory_indexer.search.hits import QueryAnswer, RankedPassage, make_hits
from directory_indexer.search.requests import FilenameMatch, Hit, SearchMode, SearchRequest
from directory_indexer.search.scope import Scope, apply_query_dates, make_path_predicate
from directory_indexer.storage.documents.store import Snapshot

with lazily:
    from directory_indexer.storage.documents.files import PathMatch

_MAX_BEFORE_TEXTS: Final = 5
"""So many rank before the texts, the others after them, so that a common word hides no text."""

_MAX_NAMED: Final = 20
_MAX_LISTED: Final = 5
_NO_OWN_TEXT_REASON: Final = "no text of its own"
_PATTERN_CHARACTERS: Final = frozenset("*?[")
_NO_CONTENT: Final = ContentHash(b"")


class FilenameMatches(NamedTuple):
    """The files and directories that a query names, the surest first; `n_all` includes those that were cut off."""

    matches: tuple[FilenameMatch, ...] = ()
    n_all: int = 0

    @property
    def file_ids(self) -> frozenset[int]:
        """The ids of the files."""
        return frozenset(place.file_id for place in self.matches if place.file_id is not None)

    @property
    def are_answer(self) -> bool:
        """Whether some match the query, and not only its filters."""
        return any(place.match for place in self.matches)


def named_files(
    snapshot: Snapshot, request: SearchRequest, query: Query, scope: Scope, *, documents: FilePath | None = None
) -> FilenameMatches:
    """Return the files and directories within the scope that a query names, but no directory of sent `documents`."""
    if not _may_name_files(request, query):
        return FilenameMatches()
    is_meant = _scope_test(snapshot, request, query, scope)
    if query.has_only_filters:
        files = [
            file for file in _known_files_at(snapshot, query.required.paths) if not file.is_indexed and is_meant(file)
        ]
        return FilenameMatches(tuple(FilenameMatch(file.path, file.reason) for file in files[:_MAX_NAMED]), len(files))
    by_path: dict[FilePath, tuple[tuple[object, ...], FilenameMatch]] = {}
    for name in typed_names(query):
        unknown = frozenset(name.words) - snapshot.words.known(name.words)
        typed = name._replace(is_prefix=request.is_prefix, unknown=unknown)
        files = snapshot.path_lookup.files_named(typed.words, are_whole=typed.is_whole_word)
        for place in chain(
            _matching_files(filter(is_meant, files), typed), _matching_directories(snapshot, request, query, typed)
        ):
            if not (place.is_directory and documents and lies_in(place.path, documents)):
                keyed = (_sort_key(place, typed, request.near), place)
                by_path[place.path] = min(by_path.get(place.path, keyed), keyed, key=itemgetter(0))
    best = [place for _, place in sorted(by_path.values(), key=itemgetter(0))]
    return FilenameMatches(tuple(best[:_MAX_NAMED]), len(best))


def _may_name_files(request: SearchRequest, query: Query) -> bool:
    return not (request.mode is SearchMode.SEMANTIC or request.grep or query.required.headings)


def suggest_file_name(
    snapshot: Snapshot, request: SearchRequest, query: Query, scope: Scope, are_different: Callable[[str, str], bool]
) -> str:
    """Return the indexed file name in the scope that a query of a single name probably misspells; "" if there is none.

    Return "" also if a file has exactly that name, or if all its words occur in texts. `are_different` returns whether
    a word is known and means something else: `sections.py` is no error for `sessions.py`.
    """
    typed = query.meaning.casefold()
    stem, dot, extension = typed.rpartition(".")
    words = {*split_into_words(stem)}
    is_name = dot and may_be_misspelt(re.sub(r"[\W\d_]", "", stem)) and extension.isalnum()
    if not (is_name and _may_name_files(request, query)) or (known := snapshot.words.known(tuple(words))) == words:
        return ""
    is_meant = _scope_test(snapshot, request, Query("", ""), scope)
    files = snapshot.path_lookup.matching(patterns_of_names(stem, dot + extension, max_errors(stem)))
    names = {os.path.basename(file.path) for file in files if file.is_indexed and is_meant(file)}
    alike = (name for name in names if name.casefold().endswith(dot + extension) and name.isprintable())
    stems = {name: os.path.splitext(name)[0].casefold() for name in alike}
    n_errors = {name: edit_distance(stem, near, most=max_errors(stem)) for name, near in stems.items()}

    def may_be_meant(name: str) -> bool:
        others = {*split_into_words(stems[name])}
        if re.findall(r"\d+", stem) != re.findall(r"\d+", stems[name]):
            return False
        return known <= others and not any(starmap(are_different, product(words - known, others - words)))

    near = sorted((n, name) for name, n in n_errors.items() if n is not None)
    return "" if 0 in n_errors.values() else next((name for _, name in near if may_be_meant(name)), "")


def patterns_of_names(stem: str, ending: str, most: int) -> Iterator[str]:
    """Yield patterns one of which each name matches that has a stem in lower case with up to so many errors.

    An error, even two swapped letters, damages one of several parts that are a letter apart, so one part is intact.
    """
    between = re.escape(os.sep)
    size = (len(stem) - most) // (most + 1)
    for start in (*(number * (size + 1) for number in range(most)), len(stem) - size):
        n_after = len(stem) - start - size
        rest = f"[^{between}]{{{max(n_after - most, 0)},{n_after + most}}}{re.escape(ending)}(?={between})"
        yield f"{'' if start else between}{re.escape(stem[start : start + size])}{rest}"


def prefer_file_names(answer: QueryAnswer, named: FilenameMatches) -> QueryAnswer:
    """Drop passages of other files if none of them is good and a file name matches the query."""
    if not (answer.is_weak and named.are_answer):
        return answer
    paths = {place.path for place in named.matches}
    passages = tuple(passage for passage in answer.passages if passage.chunk.path in paths)
    return answer._replace(passages=passages, was_cut=len(passages) < len(answer.passages))


def merge_named_files(
    snapshot: Snapshot, named: FilenameMatches, hits: Sequence[Hit], request: SearchRequest, query: Query
) -> tuple[Hit, ...]:
    """Merge named files, with their best passages, into the hits in texts.

    While a word is being typed, there is room for all of them.
    """
    first = [place for place in named.matches if place.match][:_MAX_BEFORE_TEXTS]
    others = named.matches[len(first) :]
    words = {token for word in query.words for token in word.tokens}
    whole = {place.path for place in first if place.has_whole_name}
    best: dict[FilePath, Hit] = {}
    for hit in hits:
        if hit.path not in whole or words.issubset((*split_into_words(hit.text), *extra_words(hit.text))):
            best.setdefault(hit.path, hit)
    passages = best | _first_passages(
        snapshot, [place for place in named.matches if place.path not in best], request, query
    )
    moved = {passages[place.path].chunk_id for place in first if place.path in passages}
    texts = [hit for hit in hits if hit.chunk_id not in moved]
    if request.is_prefix:
        texts = texts[: max(request.limit - len(named.matches), 0)]
    paths = {hit.path for hit in texts}
    places = [*first, *(place for place in others if place.path not in paths)]
    return merge_named_hits([_hit_of_named_path(snapshot, place, passages.get(place.path)) for place in places], texts)


def merge_named_hits(named: Sequence[Hit], texts: Sequence[Hit]) -> tuple[Hit, ...]:
    """Put the first hits by name before the hits in texts, and the others after them.

    Definitions of the name precede files that only have it as a part of theirs.
    """
    first = [hit for hit in named if hit.named and hit.named.match][:_MAX_BEFORE_TEXTS]
    whole = list(takewhile(_is_whole_name, first))
    definitions = list(takewhile(_is_definition, texts))
    lowest = min((hit.score for hit in texts), default=1.0)
    last = (hit._replace(score=min(hit.score, lowest)) for hit in named[len(first) :])
    return (*whole, *definitions, *first[len(whole) :], *texts[len(definitions) :], *last)


def _is_whole_name(hit: Hit) -> bool:
    return hit.named is not None and hit.named.has_whole_name


def _is_definition(hit: Hit) -> bool:
    return DEFINITION_SIGNAL in hit.explanation.signals


def _scope_test(snapshot: Snapshot, request: SearchRequest, query: Query, scope: Scope) -> Callable[[PathMatch], bool]:
    is_meant = make_path_predicate(snapshot, request, query)
    dated = apply_query_dates(request, query)
    kinds = (*request.kinds, *query.required.kinds)
    says_nothing = not (request.metadata or query.required.metadata or query.forbidden.metadata)

    def is_in_scope(file: PathMatch) -> bool:
        if file.is_indexed:
            return scope.file_ids is None or file.id in scope.file_ids
        return (
            says_nothing
            and (not kinds or (_kind_of_path(file.path) != "" and may_be_of_kind(file.path, request, query)))
            and (dated.since is None or file.mtime_ns / 1e9 >= dated.since)
            and (dated.until is None or file.mtime_ns / 1e9 < dated.until)
            and is_meant(file.path)
        )

    return is_in_scope


def _known_files_at(snapshot: Snapshot, paths: Sequence[str]) -> list[PathMatch]:
    """Return the known files that these path filters select, sorted; none without filters."""
    if not paths:
        return []
    plain = [path for path in paths if path.isascii() and not _PATTERN_CHARACTERS.intersection(path)]
    return sorted(snapshot.path_lookup.with_path_parts(plain), key=lambda file: file.path)


def _matching_files(known_files: Iterable[PathMatch], typed: TypedName) -> Iterator[FilenameMatch]:
    for file in known_files:
        if match := name_match(typed, os.path.basename(file.path)):
            yield FilenameMatch(file.path, file.reason, match, file.id)


def _matching_directories(
    snapshot: Snapshot, request: SearchRequest, query: Query, typed: TypedName
) -> Iterator[FilenameMatch]:
    """Yield the matching directories, unless a query searches for files alone."""
    filters = (query.required._replace(paths=()), query.forbidden._replace(paths=()))
    if request.has_filters or any(map(any, filters)):
        return
    is_meant = make_path_predicate(snapshot, request, query)
    for path in snapshot.path_lookup.directories_named(typed.words, are_whole=typed.is_whole_word):
        match = name_match(typed, os.path.basename(path), is_directory=True)
        if match and is_meant(path):
            yield FilenameMatch(path, match=match, is_directory=True)


def _sort_key(place: FilenameMatch, typed: TypedName, near: FilePath | None) -> tuple[object, ...]:
    match = place.match or NameMatch.PARTS
    # A directory has no extension: a match of its whole name is that of a stem.
    match = max(match, NameMatch.STEM) if place.is_directory else match
    is_far = near is not None and not lies_in(place.path, near)
    name = os.path.basename(place.path)
    return (
        match,
        bool(place.no_text_reason),
        place.is_directory,
        is_far,
        not name.casefold().startswith(typed.text),
        place.path.count(os.sep),
        len(name),
        place.path,
    )


def _first_passages(
    snapshot: Snapshot, places: Iterable[FilenameMatch], request: SearchRequest, query: Query
) -> dict[FilePath, Hit]:
    ids = [place.file_id for place in places if place.file_id is not None and not place.no_text_reason]
    if not ids:
        return {}
    plan = plan_match(query, snapshot.words)
    chunks = snapshot.chunks.first_chunks_of_newest_files(json.dumps(ids), n_files=len(ids))
    passages = (
        RankedPassage(stored, Ranked(stored.chunk_id, 1.0, NO_EXPLANATION), plan, line=stored.chunk.start_line)
        for stored in chunks
    )
    return {hit.path: hit for hit in make_hits(passages, excerpt_chars=request.excerpt_chars)}


def _hit_of_named_path(snapshot: Snapshot, place: FilenameMatch, passage: Hit | None) -> Hit:
    if passage is not None:
        explanation = passage.explanation._replace(signals={**passage.explanation.signals, "name": 1.0})
        return passage._replace(score=1.0, named=place, explanation=explanation)
    text = _directory_listing(snapshot, place.path) if place.is_directory else ""
    reason = place.no_text_reason or ("" if place.is_directory else _NO_OWN_TEXT_REASON)
    return Hit(
        path=place.path,
        facts=FileFacts(DIRECTORY if place.is_directory else _kind_of_path(place.path)),
        score=1.0,
        chunk_id=new_chunk_id(place.path, _NO_CONTENT, 0),
        ordinal=0,
        start_line=1,
        end_line=1,
        page=None,
        heading="",
        text=text,
        excerpt=Excerpt(text, 1, max(1, text.count("\n"))),
        explanation=NO_EXPLANATION._replace(signals={"name": 1.0}),
        named=place._replace(no_text_reason=reason),
    )


def _directory_listing(snapshot: Snapshot, directory: FilePath) -> str:
    """Format the first files in a directory, a line each."""
    paths, n_files = snapshot.path_lookup.first_files_in(directory, limit=_MAX_LISTED)
    more = f"and {n_files - len(paths):,} more\n" if n_files > len(paths) else ""
    return "".join(f"{display(FilePath(path[len(prefix_of(directory)) :]))}\n" for path in paths) + more


def _kind_of_path(path: FilePath) -> str:
    """Return the kind of a file by its name; "" if its name does not show it."""
    return kind_for_alias(os.path.splitext(path)[1]) or ""
