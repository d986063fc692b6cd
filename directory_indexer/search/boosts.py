"""Boosts: definitions of a searched name rank before its uses, and lines that a query refers to rank first.

A query of one identifier finds its definition in all files. The lines are frames of a stack trace. It was printed where
the program ran, so its paths have other beginnings: the ends that they share with paths of the index decide, and where
that is a mere name, whether the passage has the words that the trace shows of the line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from directory_indexer.chunking.chunks import HEADING_SEPARATOR
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, exact_text
from directory_indexer.formats.kinds import GROUPS
from directory_indexer.ranking.analyzer import query_words, split_into_words
from directory_indexer.ranking.candidates import DEFINITION_SIGNAL, NO_EXPLANATION, Explanation
from directory_indexer.ranking.definitions import definition_form, most_certain_definition, names_in
from directory_indexer.ranking.exactness import WEIGHT_OF_ALL_WORDS
from directory_indexer.ranking.ordering import Ranked
from directory_indexer.ranking.plan import MatchPlan
from directory_indexer.ranking.query import Query
from directory_indexer.ranking.query_syntax import has_role
from directory_indexer.ranking.word_forms import fts_phrase
from directory_indexer.search.hits import QueryAnswer, RankedPassage, other_copies
from directory_indexer.search.scope import Scope
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.store import Snapshot

with lazily:
    from directory_indexer.ranking.traces import Frame
    from directory_indexer.search.requests import SearchRequest
    from directory_indexer.search.scope import filter_passages


def boost_definitions(
    hits: Sequence[Ranked], candidates: Mapping[ChunkId, IndexedChunk], query: Query, *, limit: int
) -> tuple[Ranked, ...]:
    """Swap the best passage of each file with one that defines the name in the query.

    A passage with the name and everything typed before it, as in `Session.get`, keeps its rank. So does one with the
    whole query, if that has several words.
    """
    names = names_in(query)
    if len(names) != 1:
        return tuple(hits)
    qualifiers = _qualifiers(query, names[0])
    if qualifiers and hits and _contains_any_word(candidates[hits[0].chunk_id], query):
        return tuple(hits)
    ranked = list(hits)
    ranks = {hit.chunk_id: rank for rank, hit in enumerate(ranked)}
    seen: set[str] = set()
    for rank, hit in enumerate(ranked):
        best = candidates[hit.chunk_id]
        if best.path in seen or not _is_code(best):
            continue
        seen.add(best.path)
        defining = _best_defining_chunk(best, candidates, names, qualifiers)
        if defining is None or defining == hit.chunk_id or _has_whole_query(hit, query):
            continue
        if (other := ranks.get(defining)) is not None:
            ranked[other] = ranked[other]._replace(chunk_id=hit.chunk_id, explanation=hit.explanation)
        ranked[rank] = hit._replace(chunk_id=defining)
    if len(query.words) != 1:
        return tuple(ranked)
    is_word = not query.words[0].is_name
    first = _definitions_first(ranked, candidates, names[0], is_word=is_word, qualifiers=qualifiers)
    return tuple(first[:limit])


def _has_whole_query(hit: Ranked, query: Query) -> bool:
    """Whether a passage has all of several words with their signs, or in a row."""
    return len(query.words) > 1 and hit.explanation.signals.get("exact", 0.0) > WEIGHT_OF_ALL_WORDS


def _qualifiers(query: Query, name: str) -> frozenset[str]:
    """Return the words typed before a name, as in `Session.get`."""
    typed = next((word for word in query.words if word.text.removesuffix("()").endswith(name)), None)
    return frozenset(typed.tokens if typed else ()) - {*query_words(name)}


def _contains_any_word(chunk: IndexedChunk, query: Query) -> bool:
    """Whether a passage has one of the words of a query literally."""
    text = chunk.chunk.text.casefold()
    return any(word.text.casefold() in text for word in query.words)


def _has_qualifiers(chunk: IndexedChunk, qualifiers: frozenset[str]) -> bool:
    """Whether the heading and the path of a passage have all of these words."""
    return not qualifiers or qualifiers <= {*split_into_words(f"{chunk.chunk.heading} {chunk.path}")}


def definition_expression(plan: MatchPlan) -> str | None:
    """Return the FTS5 expression for passages headed by the query, if that is a single name; otherwise None."""
    names = names_in(plan.query)
    if plan.expression is None or len(plan.query.words) != 1 or len(names) != 1:
        return None
    return f"({plan.expression}) AND (heading : {fts_phrase(tuple(query_words(names[0])))})"


def _definitions_first(
    ranked: Sequence[Ranked],
    candidates: Mapping[ChunkId, IndexedChunk],
    name: str,
    *,
    is_word: bool,
    qualifiers: frozenset[str],
) -> list[Ranked]:
    """Move definitions to the front, including the surest one of the passages that were not shown.

    Every rank keeps its score. A word of a language is a name only if code answers it best. Words typed before the
    name, as in `Session.get`, must occur above its definition, too.
    """
    if is_word and not (ranked and _is_code(candidates[ranked[0].chunk_id])):
        return list(ranked)
    ranks = {hit.chunk_id: rank for rank, hit in enumerate(ranked)}
    defining = (chunk for chunk in candidates.values() if _has_qualifiers(chunk, qualifiers))
    kinds = {chunk.chunk_id: kind for chunk in defining if (kind := _classify_definition(chunk, name)) is not None}
    sure = [chunk_id for chunk_id, kind in kinds.items() if kind.is_sure]
    hidden = [] if any(chunk_id in ranks for chunk_id in sure) else sorted(sure, key=kinds.__getitem__)[:1]
    last = len(ranked)

    def key(hit: Ranked) -> tuple[_DefinitionKind, int]:
        kind = kinds.get(hit.chunk_id, _MERE_USE)
        return (kind if kind.is_sure or not is_word else _MERE_USE), ranks.get(hit.chunk_id, last)

    in_order = sorted((*ranked, *(Ranked(chunk_id, 0.0, NO_EXPLANATION) for chunk_id in hidden)), key=key)
    scores = [hit.score for hit in ranked] or [1.0]
    # A word in lower case may be any word.
    marked = frozenset[ChunkId]() if is_word and name.islower() else frozenset(sure)
    return [
        hit._replace(
            score=scores[min(rank, last - 1)],
            explanation=_with_definition(hit.explanation) if hit.chunk_id in marked else hit.explanation,
        )
        for rank, hit in enumerate(in_order)
    ]


def _with_definition(explanation: Explanation) -> Explanation:
    return explanation._replace(signals={**explanation.signals, DEFINITION_SIGNAL: 1.0})


class _DefinitionKind(NamedTuple):
    """Rank of a definition in a passage, the surest being the smallest."""

    is_unsure: bool
    is_test: bool
    form: int

    @property
    def is_sure(self) -> bool:
        return not self.is_unsure


_MERE_USE: Final = _DefinitionKind(is_unsure=True, is_test=True, form=100)


def _classify_definition(chunk: IndexedChunk, name: str) -> _DefinitionKind | None:
    """Return how surely a passage defines a name: by a keyword before it, or by its heading in the index."""
    definition = most_certain_definition([name], chunk.chunk.text) if _is_code(chunk) else None
    if definition is None:
        return None
    is_sure = definition.form == 0 or _has_name_in_heading(chunk, name)
    return _DefinitionKind(not is_sure, is_sure and has_role(chunk.path, "test"), definition.form if is_sure else 0)


def _has_name_in_heading(chunk: IndexedChunk, name: str) -> bool:
    """Whether a passage has a name as its heading; several small sections share one, separated by commas."""
    names = chunk.chunk.heading.rpartition(HEADING_SEPARATOR)[2].split(", ")
    return any(_QUALIFIED_NAME.sub("", text.partition("<")[0]) == name for text in names)


def _is_code(chunk: IndexedChunk) -> bool:
    return chunk.facts.kind in GROUPS["code"]


def _defines_any(chunk: IndexedChunk, names: Sequence[str]) -> bool:
    return _is_code(chunk) and definition_form(names, chunk.chunk.text) is not None


def _best_defining_chunk(
    best: IndexedChunk, candidates: Mapping[ChunkId, IndexedChunk], names: Sequence[str], qualifiers: frozenset[str]
) -> ChunkId | None:
    others = sorted(
        (chunk for chunk in candidates.values() if chunk.path == best.path), key=lambda chunk: chunk.chunk.ordinal
    )
    defining = (chunk for chunk in (best, *others) if _defines_any(chunk, names) and _has_qualifiers(chunk, qualifiers))
    return next((chunk.chunk_id for chunk in defining), None)


_QUALIFIED_NAME: Final = re.compile(r".*[.:#]")
"""The qualifier of a name in a heading such as `res.cookie`."""


def boost_referenced_lines(
    snapshot: Snapshot, answer: QueryAnswer, plan: MatchPlan, scope: Scope, request: SearchRequest
) -> QueryAnswer:
    """Put passages with lines that a query refers to (`a.py:12`) first; their number does not depend on `limit`."""
    if not plan.query.places:
        return answer
    chunks: dict[ChunkId, tuple[IndexedChunk, int | None]] = {}
    for chunk, line in passages_of_frames(snapshot, plan.query.places, scope):
        chunks.setdefault(chunk.chunk_id, (chunk, line))
    permitted = filter_passages({id_: stored for id_, (stored, _) in chunks.items()}, request)
    named = [chunks[id_] for id_ in permitted][:_MAX_NAMED]
    scores = [1 - _SCORE_STEP * at for at in range(len(named))]
    ranked = [
        Ranked(chunk.chunk_id, score, NO_EXPLANATION._replace(signals={"named_line": score}))
        for (chunk, _), score in zip(named, scores, strict=True)
    ]
    passages = [
        RankedPassage(chunk, hit, plan, other_copies(snapshot, hit, chunk.path, scope), line)
        for (chunk, line), hit in zip(named, ranked, strict=True)
    ]
    least = min(scores, default=1.0)
    named_ids = {chunk.chunk_id for chunk, _ in named}
    others = [passage for passage in answer.passages if passage.ranked.chunk_id not in named_ids]
    lower = [other._replace(ranked=other.ranked._replace(score=min(other.ranked.score, least))) for other in others]
    return answer._replace(
        passages=tuple([*passages, *lower][: request.limit]), is_weak=answer.is_weak and not passages
    )


def passages_of_frames(
    snapshot: Snapshot, frames: Sequence[Frame], scope: Scope
) -> Iterator[tuple[IndexedChunk, int | None]]:
    """Yield the passage of each stack frame that lies in an indexed file of the scope, in their order.

    The line is None if the file has been replaced and ends before it.
    """
    names = sorted({frame.path.rpartition("/")[2] for frame in frames})
    paths = snapshot.path_lookup.with_file_names(names)
    if scope.file_ids is not None:
        ids = {file.path: file.id for file in snapshot.files.at_paths(paths)}
        paths = [path for path in paths if ids.get(path) in scope.file_ids]
    texts: dict[FilePath, list[IndexedChunk]] = {}

    def at(path: FilePath, line: int) -> IndexedChunk | None:
        if path not in texts:
            texts[path] = snapshot.chunks.of_file(path)
        return _nearest_to_line(texts[path], line)

    for frame in frames if paths else ():
        for stored in _passages_of_frame(frame, paths, at):
            yield stored, frame.line if stored.chunk.start_line <= frame.line <= stored.chunk.end_line else None


def _passages_of_frame(
    frame: Frame, paths: Iterable[FilePath], at: Callable[[FilePath, int], IndexedChunk | None]
) -> list[IndexedChunk]:
    """Return the passages that a frame may mean: in the files with the longest common end, those that fit best."""
    ends = {path: n for path in paths if (n := _count_common_path_parts(frame.path, path))}
    longest = max(ends.values(), default=0)
    if longest < frame.n_telling:
        return []
    chunks = [chunk for path, n in ends.items() if n == longest and (chunk := at(path, frame.line))]
    n_others = frame.path.count("/") + 1 - longest
    is_certain = longest >= _CERTAIN_PARTS or not n_others or (n_others == 1 and len(ends) == 1)
    fits = {chunk.chunk_id: _count_common_words(frame, chunk) for chunk in chunks}
    best = max(fits.values(), default=0)
    if not (best or is_certain):
        return []
    return [chunk for chunk in chunks if fits[chunk.chunk_id] == best][:_MAX_SIMILAR_PATHS]


def _count_common_path_parts(path: str, other: FilePath) -> int:
    pairs = zip(reversed(path.split("/")), reversed(exact_text(other).split(os.sep)), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _count_common_words(frame: Frame, chunk: IndexedChunk) -> int:
    names = set(_NAME.findall(frame.context)) - _COMMON_NAMES
    return len(names & set(_NAME.findall(f"{chunk.chunk.heading}\n{chunk.chunk.text}")))


def _nearest_to_line(chunks: Sequence[IndexedChunk], line: int) -> IndexedChunk | None:
    """Return the passage with a line, or the nearest to it if the file has been replaced."""
    return min(
        chunks, key=lambda stored: max(stored.chunk.start_line - line, line - stored.chunk.end_line, 0), default=None
    )


_MAX_NAMED: Final = 8
_SCORE_STEP: Final = 0.01
_CERTAIN_PARTS: Final = 2
_MAX_SIMILAR_PATHS: Final = 3
_COMMON_NAMES: Final = frozenset(
    "File line from async await return const self this the and for not error Error".split()
)
_NAME: Final = re.compile(r"[^\W\d]\w{2,}")
