"""Passages at the lines that a query names: the frames of a stack trace that lie in indexed files.

A trace was printed where the program ran, so its paths have other beginnings: the ends that they share with paths of
the index decide, and where that is a mere name, whether the passage has the words that the trace shows of the line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.docstore.store import Snapshot
from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, exact_text
from directory_indexer.relevance.evidence import Explanation
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.relevance.ranking import Ranked
from directory_indexer.searching.copies import other_copies
from directory_indexer.searching.fusing import QueryAnswer, RankedPassage
from directory_indexer.searching.scope import Scope

with lazily:
    from directory_indexer.relevance.traces import Frame
    from directory_indexer.searching.answers import SearchRequest
    from directory_indexer.searching.matching_passages import filter_passages


def boost_named_lines(
    snapshot: Snapshot, answer: QueryAnswer, plan: MatchPlan, scope: Scope, request: SearchRequest
) -> QueryAnswer:
    """Put the passages with the lines that a query names first; their number does not depend on `limit`."""
    if not plan.query.places:
        return answer
    chunks: dict[ChunkId, tuple[IndexedChunk, int | None]] = {}
    for chunk, line in named_passages(snapshot, plan.query.places, scope):
        chunks.setdefault(chunk.chunk_id, (chunk, line))
    permitted = filter_passages({id_: stored for id_, (stored, _) in chunks.items()}, request)
    named = [chunks[id_] for id_ in permitted][:_MAX_NAMED]
    scores = [1 - _SCORE_STEP * at for at in range(len(named))]
    ranked = [
        Ranked(chunk.chunk_id, score, Explanation(signals=(("named_line", score),)))
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


def named_passages(
    snapshot: Snapshot, frames: Sequence[Frame], scope: Scope
) -> Iterator[tuple[IndexedChunk, int | None]]:
    """Yield the passage of each frame that lies in an indexed file of the scope, in the order of the frames.

    The line is None if the file has been replaced and ends before it.
    """
    names = sorted({frame.path.rpartition("/")[2] for frame in frames})
    paths = snapshot.typed_paths.called(names)
    if scope.file_ids is not None:
        ids = {file.path: file.id for file in snapshot.files.at(paths)}
        paths = [path for path in paths if ids.get(path) in scope.file_ids]
    texts: dict[FilePath, list[IndexedChunk]] = {}

    def at(path: FilePath, line: int) -> IndexedChunk | None:
        if path not in texts:
            texts[path] = snapshot.chunks.of_file(path)
        return _nearest(texts[path], line)

    for frame in frames if paths else ():
        for stored in _passages(frame, paths, at):
            yield stored, frame.line if stored.chunk.start_line <= frame.line <= stored.chunk.end_line else None


def _passages(
    frame: Frame, paths: Iterable[FilePath], at: Callable[[FilePath, int], IndexedChunk | None]
) -> list[IndexedChunk]:
    """Return the passages that a frame may mean: in the files with the longest common end, those that fit best."""
    ends = {path: n for path in paths if (n := _n_common_parts(frame.path, path))}
    longest = max(ends.values(), default=0)
    if longest < frame.n_telling:
        return []
    chunks = [chunk for path, n in ends.items() if n == longest and (chunk := at(path, frame.line))]
    n_others = frame.path.count("/") + 1 - longest
    is_certain = longest >= _CERTAIN_PARTS or not n_others or (n_others == 1 and len(ends) == 1)
    fits = {chunk.chunk_id: _n_common_words(frame, chunk) for chunk in chunks}
    best = max(fits.values(), default=0)
    if not (best or is_certain):
        return []
    return [chunk for chunk in chunks if fits[chunk.chunk_id] == best][:_MAX_ALIKE]


def _n_common_parts(path: str, other: FilePath) -> int:
    pairs = zip(reversed(path.split("/")), reversed(exact_text(other).split(os.sep)), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _n_common_words(frame: Frame, chunk: IndexedChunk) -> int:
    names = set(_NAME.findall(frame.context)) - _COMMON_NAMES
    return len(names & set(_NAME.findall(f"{chunk.chunk.heading}\n{chunk.chunk.text}")))


def _nearest(chunks: Sequence[IndexedChunk], line: int) -> IndexedChunk | None:
    """Return the passage with a line, or the nearest to it if the file has been replaced."""
    return min(
        chunks, key=lambda stored: max(stored.chunk.start_line - line, line - stored.chunk.end_line, 0), default=None
    )


_MAX_NAMED: Final = 8
_SCORE_STEP: Final = 0.01
_CERTAIN_PARTS: Final = 2
_MAX_ALIKE: Final = 3
_COMMON_NAMES: Final = frozenset(
    "File line from async await return const self this the and for not error Error".split()
)
_NAME: Final = re.compile(r"[^\W\d]\w{2,}")
