"""Hits made from ranked passages, and facts about their documents and pages.

Facts are added once it is decided which hits are shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from directory_indexer.chunker.chunks import Chunk, LineCut, row_at
from directory_indexer.docstore.known import KnownFile
from directory_indexer.docstore.store import Snapshot
from directory_indexer.extractors.document import Metadata
from directory_indexer.ids import new_chunk_id
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.relevance.evidence import Excerpt
from directory_indexer.relevance.excerpts import excerpt
from directory_indexer.scans import RecognisedPages, Recognition, Scan
from directory_indexer.searching.answers import Hit, OnDisk
from directory_indexer.searching.freshness import since_indexed
from directory_indexer.searching.fusing import RankedPassage

with lazily:
    from directory_indexer.extractors.office.sheets import column_name, column_number
    from directory_indexer.searching.scanned import locate_on_page


def make_hit(passage: RankedPassage, *, excerpt_chars: int) -> Hit:
    """Return the hit for a ranked passage: its position, and the excerpt that matched."""
    stored, ranked, plan, also_in, line = passage
    chunk = stored.chunk
    best = excerpt(chunk.text, plan, start_line=chunk.start_line, max_chars=excerpt_chars, line=line)
    row, cell = sheet_place(chunk, best)
    return Hit(
        path=stored.path,
        facts=stored.facts,
        score=ranked.score,
        chunk_id=stored.chunk_id,
        ordinal=chunk.ordinal,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        page=chunk.page,
        heading=chunk.heading,
        text=chunk.text,
        excerpt=best,
        n_more_in_file=ranked.n_more_in_file,
        explanation=ranked.explanation,
        start_char=chunk.start_char,
        also_in=also_in,
        row=row,
        cell=cell,
    )


def add_document_facts(snapshot: Snapshot, hits: Iterable[Hit], recognised: RecognisedPages) -> tuple[Hit, ...]:
    """Add the metadata of documents, their changes on disk, and the OCR engine and position of scanned pages."""
    hits = tuple(hits)
    paths = {hit.path for hit in hits}
    metadata = snapshot.metadata.of(paths)
    hits = tuple(hit._replace(metadata=metadata.get(hit.path, Metadata())) for hit in hits)
    dates = snapshot.files.dates(paths)
    hits = tuple(hit._replace(dated_at=dates.get(hit.path)) for hit in hits)
    directories = {hit.path for hit in hits if hit.named and hit.named.is_directory}
    files = {path: (snapshot.files.get(path), since_indexed(snapshot, path)) for path in paths - directories}
    hits = tuple(_with_file(hit, *files.get(hit.path, (None, None))) for hit in hits)
    paths_of_pages = {hit.path for hit in hits if hit.page is not None}
    scans = snapshot.scans.of(paths_of_pages)
    starts = {path: snapshot.files.page_starts(path) for path in paths_of_pages}
    return tuple(_with_scan(_with_pages(hit, starts.get(hit.path, ())), scans, recognised) for hit in hits)


def _with_file(hit: Hit, known: KnownFile | None, on_disk: OnDisk | None) -> Hit:
    if known and known.hash:
        # The passages of files that share a text have their own ids, whichever file holds it.
        hit = hit._replace(chunk_id=new_chunk_id(hit.path, known.hash, hit.ordinal))
    return hit._replace(source=known.source if known else None, on_disk=on_disk)


def _with_pages(hit: Hit, page_starts: Sequence[int]) -> Hit:
    """Set the page of the match and all pages of the passage, which may span several."""
    if not page_starts:
        return hit
    first_mark = hit.excerpt.marks[0][0] if hit.excerpt.marks else 0
    at = hit.start_char + max(hit.text.find(hit.excerpt.text), 0) + first_mark
    first, last = (_page_at(hit.start_char + offset, page_starts) for offset in _first_and_last_character(hit.text))
    return hit._replace(page=_page_at(at, page_starts), pages=tuple(range(first, last + 1)))


def sheet_place(chunk: Chunk, excerpt: Excerpt) -> tuple[int, str]:
    """Return the row and the first cell of a sheet in which an excerpt matches; 0 and "" if they are unknown."""
    n_lines = excerpt.line - chunk.start_line
    if (place := row_at(chunk.cell, n_lines)) is None:
        return 0, ""
    column, number = place
    n_cells = _cells_before_match(chunk, excerpt)
    return number, f"{column_name((column_number(column) or 0) + n_cells)}{number}" if column and n_cells >= 0 else ""


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
        scan=locate_on_page(scan, hit.excerpt, recognition if isinstance(recognition, Recognition) else None)
    )
