"""Passages at the places that a query names: the frames of a stack trace that lie in indexed files.

A trace was printed where the program ran, so its paths begin elsewhere: what their ends have in common with paths of
the index decides, and where that is a mere name, whether the passage has the words that the trace shows of that line.
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
from directory_indexer.searching.copies import also_in
from directory_indexer.searching.fusing import Answer, Passage
from directory_indexer.searching.scope import Scope

with lazily:
    from directory_indexer.relevance.traces import Frame
    from directory_indexer.searching.answers import SearchRequest
    from directory_indexer.searching.matching_passages import wanted_passages


def named_lines_first(
    snapshot: Snapshot, answer: Answer, plan: MatchPlan, scope: Scope, request: SearchRequest
) -> Answer:
    """Put the passages with the lines that a query names before the others; how many, no `limit` changes."""
    if not plan.query.places:
        return answer
    chunks: dict[ChunkId, tuple[IndexedChunk, int | None]] = {}
    for one, line in named_passages(snapshot, plan.query.places, scope):
        chunks.setdefault(one.chunk_id, (one, line))
    wanted = wanted_passages({id_: one for id_, (one, _) in chunks.items()}, request)
    named = [chunks[id_] for id_ in wanted][:_MOST]
    scores = [1 - _STEP * at for at in range(len(named))]
    ranked = [
        Ranked(one.chunk_id, score, Explanation(signals=(("named_line", score),)))
        for (one, _), score in zip(named, scores, strict=True)
    ]
    passages = [
        Passage(one, place, plan, also_in(snapshot, place, one.path, scope), line)
        for (one, line), place in zip(named, ranked, strict=True)
    ]
    least = min(scores, default=1.0)
    others = [one for one in answer.passages if one.ranked.chunk_id not in {one.chunk_id for one, _ in named}]
    lower = [one._replace(ranked=one.ranked._replace(score=min(one.ranked.score, least))) for one in others]
    return answer._replace(
        passages=tuple([*passages, *lower][: request.limit]), is_weak=answer.is_weak and not passages
    )


def named_passages(
    snapshot: Snapshot, frames: Sequence[Frame], scope: Scope
) -> Iterator[tuple[IndexedChunk, int | None]]:
    """Yield the passage of each frame that lies in an indexed file of the scope, in the order of the frames.

    With it comes the line, unless the file has become another one and ends before it.
    """
    names = sorted({frame.path.rpartition("/")[2] for frame in frames})
    paths = snapshot.typed_paths.called(names)
    if scope.file_ids is not None:
        ids = {one.path: one.id for one in snapshot.files.at(paths)}
        paths = [path for path in paths if ids.get(path) in scope.file_ids]
    texts: dict[FilePath, list[IndexedChunk]] = {}

    def at(path: FilePath, line: int) -> IndexedChunk | None:
        if path not in texts:
            texts[path] = snapshot.chunks.of_file(path)
        return _nearest(texts[path], line)

    for frame in frames if paths else ():
        for one in _passages(frame, paths, at):
            yield one, frame.line if one.chunk.start_line <= frame.line <= one.chunk.end_line else None


def _passages(
    frame: Frame, paths: Iterable[FilePath], at: Callable[[FilePath, int], IndexedChunk | None]
) -> list[IndexedChunk]:
    """Return the passages that a frame can mean: of the files with the longest common end, those that fit best."""
    ends = {path: n for path in paths if (n := _n_common_parts(frame.path, path))}
    longest = max(ends.values(), default=0)
    if longest < frame.n_telling:
        return []
    found = [one for path, n in ends.items() if n == longest and (one := at(path, frame.line))]
    n_others = frame.path.count("/") + 1 - longest
    is_certain = longest >= _CERTAIN or not n_others or (n_others == 1 and len(ends) == 1)
    fits = {one.chunk_id: _n_common_words(frame, one) for one in found}
    best = max(fits.values(), default=0)
    if not (best or is_certain):
        return []
    return [one for one in found if fits[one.chunk_id] == best][:_MOST_ALIKE]


def _n_common_parts(path: str, other: FilePath) -> int:
    pairs = zip(reversed(path.split("/")), reversed(exact_text(other).split(os.sep)), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _n_common_words(frame: Frame, chunk: IndexedChunk) -> int:
    own = set(_NAME.findall(frame.context)) - _IN_ANY_TRACE
    return len(own & set(_NAME.findall(f"{chunk.chunk.heading}\n{chunk.chunk.text}")))


def _nearest(chunks: Sequence[IndexedChunk], line: int) -> IndexedChunk | None:
    """Return the passage with a line; that nearest to it where the file has become another one."""
    return min(chunks, key=lambda one: max(one.chunk.start_line - line, line - one.chunk.end_line, 0), default=None)


_MOST: Final = 8
_STEP: Final = 0.01
_CERTAIN: Final = 2
_MOST_ALIKE: Final = 3
_IN_ANY_TRACE: Final = frozenset(
    "File line from async await return const self this the and for not error Error".split()
)
_NAME: Final = re.compile(r"[^\W\d]\w{2,}")
