"""Files and directories by their names: those that a query names stand before all that was found in texts.

Of a file with text the best passage is shown, or else the first. Files without text and directories have no passages:
what lies in a directory stands in the place of one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from directory_indexer.docstore.store import Snapshot
from directory_indexer.extractors.document import FileFacts
from directory_indexer.extractors.kinds import kind_for_alias
from directory_indexer.files import DIRECTORY
from directory_indexer.ids import ContentHash, new_chunk_id
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, display, lies_in, prefix_of
from directory_indexer.relevance.evidence import Excerpt, Explanation
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.relevance.name_match import NameMatch, TypedName, name_match, typed_name
from directory_indexer.relevance.query import Query
from directory_indexer.relevance.ranking import Ranked
from directory_indexer.searching.answers import Hit, NamedPlace, SearchMode, SearchRequest
from directory_indexer.searching.fusing import Answer, Passage
from directory_indexer.searching.gaps import may_be_of_kind
from directory_indexer.searching.hits import hit_of
from directory_indexer.searching.scope import Scope, dated_request, path_tests

with lazily:
    from directory_indexer.docstore.typed_paths import MetFile

_FIRST: Final = 5
"""So many stand before the texts; the others stand behind them, so that a common word hides no text."""

_MOST: Final = 20
_MOST_INSIDE: Final = 5
_NO_TEXT_OF_ITS_OWN: Final = "no text of its own"
_MEMBERS: Final = f"!{os.sep}"
_PATTERN_SIGNS: Final = frozenset("*?[")
_NO_CONTENT: Final = ContentHash(b"")


class NamedFiles(NamedTuple):
    """The files and directories that a query names, the surest first; `n_all` counts those beyond, too."""

    places: tuple[NamedPlace, ...] = ()
    n_all: int = 0

    @property
    def file_ids(self) -> frozenset[int]:
        """The rows of the files."""
        return frozenset(one.file_id for one in self.places if one.file_id is not None)

    @property
    def are_answer(self) -> bool:
        """Whether there are some that the query is about, and not only its filters."""
        return any(one.match for one in self.places)


def named_files(snapshot: Snapshot, request: SearchRequest, query: Query, scope: Scope) -> NamedFiles:
    """Find the files and directories that a query names, where it looks."""
    if request.mode is SearchMode.SEMANTIC or request.grep or query.required.headings:
        return NamedFiles()
    is_meant = _scope_test(snapshot, request, query, scope)
    if query.has_only_filters:
        left = [one for one in _met_at(snapshot, query.required.paths) if not one.is_indexed and is_meant(one)]
        return NamedFiles(tuple(NamedPlace(one.path, one.reason) for one in left[:_MOST]), len(left))
    typed = typed_name(query)
    if typed is None:
        return NamedFiles()
    unknown = frozenset(typed.words) - snapshot.words.known(typed.words)
    typed = typed._replace(is_unfinished=request.is_unfinished, unknown=unknown)
    met = snapshot.typed_paths.met_with([word for word in typed.words if word.isascii()])
    places = [
        *_files(filter(is_meant, met), typed),
        *_directories(snapshot, request, query, typed, met),
    ]
    best = sorted(places, key=lambda one: _rank(one, typed, request.near))
    return NamedFiles(tuple(best[:_MOST]), len(best))


def without_weak_texts(answer: Answer, named: NamedFiles) -> Answer:
    """Leave out passages of other files where nothing good is among them and a name is the answer."""
    if not (answer.is_weak and named.are_answer):
        return answer
    paths = {one.path for one in named.places}
    passages = tuple(one for one in answer.passages if one.chunk.path in paths)
    return answer._replace(passages=passages, has_weaker=len(passages) < len(answer.passages))


def with_named(snapshot: Snapshot, named: NamedFiles, hits: Sequence[Hit], request: SearchRequest) -> tuple[Hit, ...]:
    """Put named files with their best passages into an answer, of which these are the hits in texts.

    While a word is being typed, there is room for all of them.
    """
    best: dict[FilePath, Hit] = {}
    for hit in hits:
        best.setdefault(hit.path, hit)
    first = [one for one in named.places if one.match][:_FIRST]
    others = named.places[len(first) :]
    moved = {best[one.path].chunk_id for one in first if one.path in best}
    texts = [hit for hit in hits if hit.chunk_id not in moved]
    if request.is_unfinished:
        texts = texts[: max(request.limit - len(named.places), 0)]
    seen = {hit.path for hit in texts}
    shown = [*first, *(one for one in others if one.path not in seen)]
    passages = best | _first_passages(snapshot, [one for one in shown if one.path not in best], request)
    return arranged([_named_hit(snapshot, one, passages.get(one.path)) for one in shown], texts)


def arranged(named: Sequence[Hit], texts: Sequence[Hit]) -> tuple[Hit, ...]:
    """Put hits by name before and behind those in texts."""
    first = [hit for hit in named if hit.named and hit.named.match][:_FIRST]
    least = min((hit.score for hit in texts), default=1.0)
    behind = (hit._replace(score=min(hit.score, least)) for hit in named[len(first) :])
    return (*first, *texts, *behind)


def _scope_test(snapshot: Snapshot, request: SearchRequest, query: Query, scope: Scope) -> Callable[[MetFile], bool]:
    is_meant = path_tests(snapshot, request, query)
    dated = dated_request(request, query)
    kinds = (*request.kinds, *query.required.kinds)
    says_nothing = not (request.metadata or query.required.metadata or query.forbidden.metadata)

    def is_in_scope(file: MetFile) -> bool:
        if file.is_indexed:
            return scope.file_ids is None or file.id in scope.file_ids
        return (
            says_nothing
            and (not kinds or (_kind(file.path) != "" and may_be_of_kind(file.path, request, query)))
            and (dated.since is None or file.mtime_ns / 1e9 >= dated.since)
            and (dated.until is None or file.mtime_ns / 1e9 < dated.until)
            and is_meant(file.path)
        )

    return is_in_scope


def _met_at(snapshot: Snapshot, paths: Sequence[str]) -> list[MetFile]:
    """List what has been met where these filters may look, in order; nothing without any."""
    if not paths:
        return []
    plain = [path for path in paths if path.isascii() and not _PATTERN_SIGNS.intersection(path)]
    return sorted(snapshot.typed_paths.met_with(plain), key=lambda one: one.path)


def _files(met: Iterable[MetFile], typed: TypedName) -> Iterator[NamedPlace]:
    for one in met:
        if match := name_match(typed, os.path.basename(one.path)):
            yield NamedPlace(one.path, one.reason, match, one.id)


def _directories(
    snapshot: Snapshot, request: SearchRequest, query: Query, typed: TypedName, met: Iterable[MetFile]
) -> Iterator[NamedPlace]:
    """Yield the directories around some files that match, where a query looks for no files alone."""
    filters = (query.required._replace(paths=()), query.forbidden._replace(paths=()))
    if request.has_filters or any(map(any, filters)):
        return
    is_meant = path_tests(snapshot, request, query)
    for path in _around({os.path.dirname(one.path) for one in met if _MEMBERS not in one.path}):
        match = name_match(typed, os.path.basename(path), is_directory=True)
        if match and is_meant(path):
            yield NamedPlace(path, match=match, is_directory=True)


def _around(directories: Iterable[str]) -> Iterator[FilePath]:
    """Yield directories and those around them, each once."""
    seen = {""}
    for directory in directories:
        while directory not in seen:
            seen.add(directory)
            yield FilePath(directory)
            directory = os.path.dirname(directory)  # noqa: PLW2901 - it is climbed


def _rank(place: NamedPlace, typed: TypedName, near: FilePath | None) -> tuple[object, ...]:
    match = place.match or NameMatch.PARTS
    # A directory has no more of a name than what files have before the dot.
    match = max(match, NameMatch.STEM) if place.is_directory else match
    is_far = near is not None and not lies_in(place.path, near)
    name = os.path.basename(place.path)
    return (
        match,
        bool(place.why_without_text),
        place.is_directory,
        is_far,
        not name.casefold().startswith(typed.text),
        place.path.count(os.sep),
        len(name),
        place.path,
    )


def _first_passages(snapshot: Snapshot, places: Iterable[NamedPlace], request: SearchRequest) -> dict[FilePath, Hit]:
    ids = [one.file_id for one in places if one.file_id is not None and not one.why_without_text]
    if not ids:
        return {}
    plan = MatchPlan(Query(request.query, ""), None)
    chunks = snapshot.chunks.of_newest_files(json.dumps(ids), limit=len(ids))
    passages = (Passage(chunk, Ranked(chunk.chunk_id, 1.0, Explanation()), plan) for chunk in chunks)
    return {one.chunk.path: hit_of(one, excerpt_chars=request.excerpt_chars) for one in passages}


def _named_hit(snapshot: Snapshot, place: NamedPlace, passage: Hit | None) -> Hit:
    if passage is not None:
        explanation = passage.explanation._replace(signals=(*passage.explanation.signals, ("name", 1.0)))
        return passage._replace(score=1.0, named=place, explanation=explanation)
    text = _content(snapshot, place.path) if place.is_directory else ""
    why = place.why_without_text or ("" if place.is_directory else _NO_TEXT_OF_ITS_OWN)
    return Hit(
        path=place.path,
        facts=FileFacts(DIRECTORY if place.is_directory else _kind(place.path)),
        score=1.0,
        chunk_id=new_chunk_id(place.path, _NO_CONTENT, 0),
        ordinal=0,
        start_line=1,
        end_line=1,
        page=None,
        heading="",
        text=text,
        excerpt=Excerpt(text, 1, max(1, text.count("\n"))),
        explanation=Explanation(signals=(("name", 1.0),)),
        named=place._replace(why_without_text=why),
    )


def _content(snapshot: Snapshot, directory: FilePath) -> str:
    """List the first files in a directory, a line each."""
    paths, n_files = snapshot.typed_paths.met_in(directory, limit=_MOST_INSIDE)
    more = f"and {n_files - len(paths):,} more\n" if n_files > len(paths) else ""
    return "".join(f"{display(FilePath(path[len(prefix_of(directory)) :]))}\n" for path in paths) + more


def _kind(path: FilePath) -> str:
    """Name the kind of a file by its name, empty where that does not tell."""
    return kind_for_alias(os.path.splitext(path)[1]) or ""
