"""Hits: built from ranked passages, merged across queries, with facts about their documents and copies.

Facts, such as the position on a scanned page and the copies of a file, are added once it is decided which hits are
shown.

Scores are on one scale, so that a passage that several queries find counts for more: one with .6 and .5 answers at
least one of the two with 1 - .4 * .5.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, takewhile
from typing import Final, NamedTuple

from directory_indexer.chunking.chunks import Chunk, LineCut, row_and_column_at
from directory_indexer.core.files import Box, RecognisedPages, Recognition, Scan, ScannedPassage, Word
from directory_indexer.core.ids import ChunkId, new_chunk_id
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.document import Metadata
from directory_indexer.ranking.candidates import Excerpt, Explanation
from directory_indexer.ranking.excerpts import MarkedTerms, excerpt
from directory_indexer.ranking.ordering import Ranked
from directory_indexer.ranking.plan import MatchPlan
from directory_indexer.ranking.spelling import Correction
from directory_indexer.search.file_texts import changes_on_disk
from directory_indexer.search.requests import Hit
from directory_indexer.search.scope import Scope
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.shared_texts import SharingFile
from directory_indexer.storage.documents.store import Snapshot

with lazily:
    from difflib import SequenceMatcher

    from directory_indexer.formats.office.sheets import column_name, column_number

_MAX_COPIES: Final = 1_000

_MAX_WORDS: Final = 400
_MAX_OCCURRENCES: Final = 20
"""More frequent words are only matched next to others: comparing all their positions took 13 s."""


def make_hits(passages: Iterable[RankedPassage], *, excerpt_chars: int) -> list[Hit]:
    """Return the hits for ranked passages: their positions, and the excerpts that matched."""
    passages = list(passages)
    terms = {id(plan): MarkedTerms(plan) for plan in {id(passage.plan): passage.plan for passage in passages}.values()}
    return [_make_hit(passage, terms[id(passage.plan)], excerpt_chars) for passage in passages]


def _make_hit(passage: RankedPassage, terms: MarkedTerms, excerpt_chars: int) -> Hit:
    stored, ranked, _, also_in, line = passage
    chunk = stored.chunk
    best = excerpt(chunk.text, terms, start_line=chunk.start_line, max_chars=excerpt_chars, line=line)
    hit = make_hit(stored, best, score=ranked.score, explanation=ranked.explanation)
    return hit._replace(n_more_in_file=ranked.n_more_in_file, also_in=also_in)


def make_hit(stored: IndexedChunk, excerpt: Excerpt, *, score: float, explanation: Explanation) -> Hit:
    """Return the hit of a passage with an excerpt of it."""
    chunk = stored.chunk
    row, cell = _row_and_cell_of_match(chunk, excerpt)
    return Hit(
        path=stored.path,
        facts=stored.facts,
        score=score,
        chunk_id=stored.chunk_id,
        ordinal=chunk.ordinal,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        page=chunk.page,
        heading=chunk.heading,
        text=chunk.text,
        excerpt=excerpt,
        explanation=explanation,
        start_char=chunk.start_char,
        row=row,
        cell=cell,
    )


def add_document_facts(snapshot: Snapshot, hits: Iterable[Hit], recognised: RecognisedPages) -> tuple[Hit, ...]:
    """Add the metadata of documents, their changes on disk, and the OCR engine and position of scanned pages."""
    hits = tuple(hits)
    paths = {hit.path for hit in hits}
    metadata, dates = snapshot.metadata.metadata_of(paths), snapshot.files.dates(paths)
    files = paths - {hit.path for hit in hits if hit.named and hit.named.is_directory}
    known = snapshot.files.get_all(files)
    changes = changes_on_disk(snapshot, files, known)
    paths_of_pages = {hit.path for hit in hits if hit.page is not None}
    scans = snapshot.scans.scans_of(paths_of_pages) if paths_of_pages else {}
    starts = {path: snapshot.files.page_starts(path) for path in paths_of_pages}

    def with_facts(hit: Hit) -> Hit:
        path = hit.path
        file = known.get(path)
        described = hit._replace(
            metadata=metadata.get(path, Metadata()),
            dated_at=dates.get(path),
            # The passages of files that share a text have their own ids, whichever file holds it.
            chunk_id=new_chunk_id(path, file.hash, hit.ordinal) if file and file.hash else hit.chunk_id,
            source=file.source if file else None,
            on_disk=changes.get(path),
        )
        return _with_scan(_with_pages(described, starts[path]), scans, recognised) if path in starts else described

    return tuple(map(with_facts, hits))


def _row_and_cell_of_match(chunk: Chunk, excerpt: Excerpt) -> tuple[int, str]:
    """Return the row and the first cell of a sheet in which an excerpt matches; 0 and "" if they are unknown."""
    n_lines = excerpt.line - chunk.start_line
    if (place := row_and_column_at(chunk.cell, n_lines)) is None:
        return 0, ""
    column, number = place
    n_cells = _cells_before_match(chunk, excerpt)
    return number, f"{column_name((column_number(column) or 0) + n_cells)}{number}" if column and n_cells >= 0 else ""


class RankedPassage(NamedTuple):
    """A ranked chunk, and the plan of the query that it answers, which determines its excerpt."""

    chunk: IndexedChunk
    ranked: Ranked
    plan: MatchPlan
    also_in: tuple[FilePath, ...] = ()
    """Other files that contain it, too."""
    line: int | None = None
    """Its line that the query names."""


class QueryAnswer(NamedTuple):
    """The passages that a query finds, best first, before their hits are made; the rest as in `SearchResult`."""

    passages: tuple[RankedPassage, ...]
    notes: tuple[Note, ...] = ()
    is_truncated: bool = False
    is_weak: bool = False
    was_cut: bool = False
    corrections: tuple[Correction, ...] = ()


def fuse_query_answers(answers: Sequence[QueryAnswer], *, limit: int) -> QueryAnswer:
    """Merge the answers to several queries, best first; each query with a good hit has its best one among the first."""
    by_chunk: defaultdict[ChunkId, list[RankedPassage]] = defaultdict(list)
    for passage in chain.from_iterable(answer.passages for answer in answers):
        by_chunk[passage.ranked.chunk_id].append(passage)
    passages = sorted(map(_combine_same_passage, by_chunk.values()), key=_sort_key)
    bests = [answer.passages[0].ranked.chunk_id for answer in answers if answer.passages and not answer.is_weak]
    return QueryAnswer(
        passages=tuple(_keep_best_hits(passages, frozenset(bests), limit)),
        notes=tuple(dict.fromkeys(note for answer in answers for note in answer.notes)),
        is_truncated=len(passages) > limit or any(answer.is_truncated for answer in answers),
        is_weak=all(answer.is_weak for answer in answers),
        was_cut=any(answer.was_cut for answer in answers),
        corrections=tuple(dict.fromkeys(correction for answer in answers for correction in answer.corrections)),
    )


def other_copies(snapshot: Snapshot, ranked: Ranked, path: FilePath, scope: Scope) -> tuple[FilePath, ...]:
    """Return the other files of a scope that contain a passage of a file, sorted.

    The index knows copies with the same name, and the ranking those with other names among its candidates.
    """
    copies = snapshot.chunks.copies(ranked.chunk_id, limit=_MAX_COPIES)
    named = {other for file_id, other in copies if scope.file_ids is None or file_id in scope.file_ids}
    return tuple(sorted((named | set(ranked.copies)) - {path}))


def copy_closest_to_directory(
    snapshot: Snapshot, chunk: IndexedChunk, others: Sequence[FilePath], directory: FilePath | None
) -> IndexedChunk:
    """Return the copy of a passage in the file closest to a directory; the passage itself if none is closer."""
    nearest = max((chunk.path, *others), key=partial(_path_nearness, directory))
    if nearest == chunk.path:
        return chunk
    words = chunk.chunk.text.split()
    return next((stored for stored in snapshot.chunks.of_file(nearest) if stored.chunk.text.split() == words), chunk)


def choose_copies_in_scope(
    snapshot: Snapshot, chunks: Mapping[ChunkId, IndexedChunk], scope: Scope, directory: FilePath | None
) -> dict[ChunkId, IndexedChunk]:
    """Return, for each passage, its copy in the scope that is closest to a directory, or else the first by path."""
    copies = copies_in_scope(snapshot, chunks, scope).items()
    return {
        id_: max(files, key=lambda stored: _path_nearness(directory, stored.path)) for id_, files in copies if files
    }


def copies_in_scope(
    snapshot: Snapshot, chunks: Mapping[ChunkId, IndexedChunk], scope: Scope
) -> dict[ChunkId, list[IndexedChunk]]:
    """Return the copies of each passage: one for each file of the scope that shares its text, sorted by path."""
    sharing = snapshot.shared_texts.files_sharing_texts_of({stored.holder_id for stored in chunks.values()})
    return {
        id_: list(_copies_in_files(stored, sharing.get(stored.holder_id, ()), scope)) for id_, stored in chunks.items()
    }


def locate_on_scan(scan: Scan, excerpt: Excerpt, recognition: Recognition | None) -> ScannedPassage:
    """Find the words of an excerpt on the recognised page."""
    words = [word for line in recognition.lines for word in line.words if word.box] if recognition else []
    positions = _word_positions(excerpt, words)
    marked = tuple(box for start, box in positions if any(first <= start < end for first, end in excerpt.marks))
    return ScannedPassage(scan.engine, scan.confidence or 0.0, _bounding_box(box for _, box in positions), marked)


def _with_pages(hit: Hit, page_starts: Sequence[int]) -> Hit:
    """Set the page of the match and all pages of the passage, which may span several."""
    if not page_starts:
        return hit
    first_mark = hit.excerpt.marks[0][0] if hit.excerpt.marks else 0
    at = hit.start_char + max(hit.text.find(hit.excerpt.text), 0) + first_mark
    first, last = (_page_at(hit.start_char + offset, page_starts) for offset in _first_and_last_character(hit.text))
    return hit._replace(page=_page_at(at, page_starts), pages=tuple(range(first, last + 1)))


def _cells_before_match(chunk: Chunk, excerpt: Excerpt) -> int:
    """Count the cells before the first one that matches in the line of an excerpt; -1 if none does or it is cut."""
    at = max(chunk.text.find(excerpt.text), 0)
    for start, _ in excerpt.marks:
        if chunk.text.count("\n", 0, at + start) == excerpt.line - chunk.start_line:
            line_start = chunk.text.rfind("\n", 0, at + start) + 1
            is_cut = line_start == 0 and chunk.line_cut != LineCut.NONE
            return -1 if is_cut else chunk.text.count("|", line_start, at + start) - 1
    return -1


def _page_at(character: int, page_starts: Sequence[int]) -> int:
    return bisect_right(page_starts, character)


def _first_and_last_character(text: str) -> tuple[int, int]:
    """Return the offsets of a text without surrounding white space, which may belong to another page."""
    return len(text) - len(text.lstrip()), max(len(text.rstrip()) - 1, 0)


def _with_scan(hit: Hit, scans: dict[tuple[FilePath, int], Scan], recognised: RecognisedPages) -> Hit:
    scan = scans.get((hit.path, hit.page or 0))
    if scan is None or not scan.engine:
        return hit
    recognition = recognised.get(scan.key)
    return hit._replace(
        scan=locate_on_scan(scan, hit.excerpt, recognition if isinstance(recognition, Recognition) else None)
    )


def _combine_same_passage(passages: Sequence[RankedPassage]) -> RankedPassage:
    """Return a passage as found by the query that it answers best, with the score of all."""
    best = max(passages, key=lambda passage: passage.ranked.score)
    score = 1 - math.prod(1 - passage.ranked.score for passage in passages)
    return best._replace(ranked=best.ranked._replace(score=score))


def _sort_key(passage: RankedPassage) -> tuple[float, str, int]:
    return -passage.ranked.score, passage.chunk.path, passage.chunk.chunk.start_line


def _keep_best_hits(passages: Sequence[RankedPassage], bests: frozenset[ChunkId], limit: int) -> list[RankedPassage]:
    n_others = max(limit - len(bests), 0)
    ids = [passage.ranked.chunk_id for passage in passages]
    others = [chunk_id for chunk_id in ids if chunk_id not in bests][:n_others]
    return [passage for passage in passages if passage.ranked.chunk_id in bests or passage.ranked.chunk_id in others][
        :limit
    ]


def _copies_in_files(chunk: IndexedChunk, sharing: Sequence[SharingFile], scope: Scope) -> Iterator[IndexedChunk]:
    if not sharing:
        yield chunk
        return
    holder = SharingFile(chunk.holder_id, chunk.path, chunk.mtime_ns)
    for file in sorted((holder, *sharing), key=lambda sharing_file: sharing_file.path):
        if scope.file_ids is None or file.id in scope.file_ids:
            yield chunk._replace(path=file.path, mtime_ns=file.mtime_ns)


def _path_nearness(near: FilePath | None, path: FilePath) -> int:
    """Return the number of leading directories that two paths share."""
    pairs = zip((near or "").split(os.sep), path.split(os.sep), strict=False)
    return sum(1 for _ in takewhile(lambda parts: parts[0] == parts[1], pairs))


def _word_positions(excerpt: Excerpt, words: list[Word]) -> list[tuple[int, Box]]:
    """Return the first characters of the words of an excerpt that occur on the page, with their boxes."""
    excerpt_words = list(_words(excerpt.text))[:_MAX_WORDS]
    on_page = [word.text.casefold() for word in words]
    n_times = Counter(on_page)
    matcher = SequenceMatcher(
        lambda word: n_times[word] > _MAX_OCCURRENCES, [text for _, text in excerpt_words], on_page, autojunk=False
    )
    positions: list[tuple[int, Box]] = []
    for start, at, size in matcher.get_matching_blocks():
        for (first, _), word in zip(excerpt_words[start : start + size], words[at : at + size], strict=True):
            if word.box:
                positions.append((first, word.box))
    return positions


def _words(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for word in text.split():
        start = text.index(word, start)
        yield start, word.casefold()
        start += len(word)


def _bounding_box(boxes: Iterable[Box]) -> Box | None:
    sides = list(zip(*boxes, strict=True))
    return Box(min(sides[0]), min(sides[1]), max(sides[2]), max(sides[3])) if sides else None
