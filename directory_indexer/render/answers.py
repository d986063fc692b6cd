"""Answers as lines: hits with the words that matched, rows that `grep` and `awk` like, and the text of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, exact_text
from directory_indexer.relevance.evidence import Excerpt, Explanation
from directory_indexer.render.printable import PathStyle, file_uri, printable, single_line
from directory_indexer.render.quantities import count
from directory_indexer.render.spans import Line, Span, Style, line

with lazily:
    from directory_indexer.searching.answers import Hit, OnDisk, SearchResult
    from directory_indexer.searching.texts import FileText
    from directory_indexer.wire.documents import metadata_of
    from directory_indexer.wire.hits import page_range


_INDENT = 6
_MOST_PAGES = 12
_TAB = " " * 4


class View(StrEnum):
    """How much of each hit is shown."""

    EXCERPTS = "excerpts"
    FILES = "files"
    SCORED_FILES = "scored files"
    FULL = "full"


_FILES = (View.FILES, View.SCORED_FILES)


def search_lines(
    result: SearchResult, *, paths: PathStyle, view: View = View.EXCERPTS, explain: bool = False
) -> Iterator[Line]:
    """Show hits to a person: score, place that can be clicked, and what matched."""
    for number, hit in enumerate(_one_a_file(result.hits) if view in _FILES else result.hits):
        if number and view not in _FILES:
            yield line()
        yield _headline(hit, paths, view)
        if view not in _FILES:
            shown = _whole_chunk(hit) if view is View.FULL else hit.excerpt
            yield from (Line(spans, _INDENT) for spans in _marked_lines(shown))
            if hit.n_more_in_file:
                more = count(hit.n_more_in_file, "more chunk")
                yield line(Span(f"{more} in this file", Style.NOTE), indent=_INDENT)
        if explain:
            yield line(Span(_explained(hit.explanation), Style.NOTE), indent=_INDENT)


def search_rows(result: SearchResult, *, view: View = View.EXCERPTS, explain: bool = False) -> str:
    """Write hits for a pipe, with absolute paths and nothing shortened.

    A hit is one row of fields with tabs between them: place, score, heading, excerpt, and why if asked. With
    `View.FILES` it is the path alone, with `View.SCORED_FILES` path and score; with `View.FULL` each line of the chunk
    has its place before it, as `grep -n` writes it.
    """
    if view is View.FILES:
        rows = [_path(hit) for hit in _one_a_file(result.hits)]
    elif view is View.SCORED_FILES:
        rows = [f"{_path(hit)}\t{hit.score:.2f}" for hit in _one_a_file(result.hits)]
    elif view is View.FULL:
        rows = [row for hit in result.hits for row in _numbered(hit)]
    else:
        rows = ["\t".join(_fields(hit, explain=explain)) for hit in result.hits]
    return "".join(f"{row}\n" for row in rows)


def search_notes(result: SearchResult) -> tuple[str, ...]:
    """Say what a reader must know to trust an answer; for the error output."""
    notes = (*result.degraded, *(one.note for one in result.corrections))
    if not result.hits:
        return (*notes, "nothing found")
    weak = ("nothing matches well; this is the nearest there is",) if result.is_weak else ()
    return (*notes, *weak, *_freshness_notes(result.hits))


def closing_notes(result: SearchResult) -> tuple[str, ...]:
    """Say what could be asked for beside the hits that were shown; for the error output."""
    return ("hits that are much weaker than the best are left out; --all shows them",) if result.has_weaker else ()


def _freshness_notes(hits: Sequence[Hit]) -> Iterator[str]:
    for became in (OnDisk.GONE, OnDisk.CHANGED):
        if paths := {hit.path for hit in hits if hit.on_disk is became}:
            yield f"{count(len(paths), 'file')} {became} since the last run; dirindex index brings the index up to date"


def get_text(file_text: FileText, *, for_terminal: bool) -> str:
    """Give the text of a file: exactly in a pipe, and without anything that moves the cursor on a terminal."""
    return _lines_of(file_text.text) if for_terminal else file_text.text


def markdown(text: str, *, for_terminal: bool) -> str:
    """Give a converted document as `get_text` gives a text."""
    return _lines_of(text) if for_terminal else text


def _lines_of(text: str) -> str:
    rows = text.removesuffix("\n").split("\n")
    return "".join(printable(row.removesuffix("\r")) + "\n" for row in rows)


def get_notes(file_text: FileText, *, paths: PathStyle) -> tuple[str, ...]:
    """Say what part of a file was given, and whether it is still the same; for the error output."""
    path = printable(paths.shown(file_text.path))
    part = f"{path}: lines {file_text.start_line}-{file_text.end_line} of {file_text.n_lines}"
    is_whole = file_text.start_line <= 1 and file_text.end_line >= file_text.n_lines
    became = "is gone" if file_text.on_disk is OnDisk.GONE else "has changed"
    changed = f"{path} {became} since it was indexed; this is the text as it was then"
    return (
        *(() if is_whole else (part,)),
        *_facts(file_text, path),
        *((changed,) if file_text.on_disk else ()),
        *_missing(file_text.unread_pages, path),
    )


def _missing(pages: Sequence[int], path: str) -> Iterator[str]:
    """Name the first scanned pages whose text is missing."""
    if pages:
        more = f" and {len(pages) - _MOST_PAGES:,} more" if len(pages) > _MOST_PAGES else ""
        word = "page" if len(pages) == 1 else "pages"
        yield f"{path}: OCR has not read {word} {', '.join(map(str, pages[:_MOST_PAGES]))}{more}"


def _facts(file_text: FileText, path: str) -> Iterator[str]:
    """Give the title of a document, and what else it says about itself."""
    title = file_text.facts.title
    facts: Mapping[str, tuple[str, ...]] = {"title": (title,)} if title else {}
    facts = {**facts, **(metadata_of(file_text.metadata) or {})}
    if facts:
        yield f"{path}: " + "; ".join(f"{name} {single_line(', '.join(values))}" for name, values in facts.items())


def _headline(hit: Hit, paths: PathStyle, view: View) -> Line:
    place = "" if view in _FILES else f":{hit.excerpt.start_line}"
    where = hit.facts.title if view in _FILES else _heading(hit)
    return line(
        Span(f"{hit.score:.2f}  ", Style.NUMBER),
        Span(paths.shown(hit.path) + place, Style.PATH, file_uri(hit.path, page=hit.page)),
        Span(f"  {where}" if where else "", Style.PLACE),
        Span(f"  ({hit.on_disk} since it was indexed)" if hit.on_disk else "", Style.NOTE),
    )


def _heading(hit: Hit) -> str:
    page = f"{'pages' if len(hit.pages) > 1 else 'page'} {page_range(hit.page, hit.pages)}" if hit.page else ""
    if hit.scan:
        page += f" (scanned, {hit.scan.confidence:.0%} sure)"
    return " · ".join(part for part in (page, hit.heading or hit.facts.title) if part)


def _one_a_file(hits: Sequence[Hit]) -> list[Hit]:
    first: dict[FilePath, Hit] = {}
    for hit in hits:
        first.setdefault(hit.path, hit)
    return list(first.values())


def _whole_chunk(hit: Hit) -> Excerpt:
    offset = hit.text.find(hit.excerpt.text)
    marks = tuple((start + offset, end + offset) for start, end in hit.excerpt.marks) if offset >= 0 else ()
    return Excerpt(hit.text, hit.start_line, hit.end_line, marks)


def _marked_lines(excerpt: Excerpt) -> list[tuple[Span, ...]]:
    """Cut an excerpt into lines of spans, without the indentation that all of them share."""
    rows: list[list[Span]] = [[]]
    for span in _marked(excerpt):
        first, *others = span.text.replace("\r\n", "\n").replace("\t", _TAB).split("\n")
        rows[-1].append(span._replace(text=first))
        rows += [[span._replace(text=other)] for other in others]
    while len(rows) > 1 and not _joined(rows[-1]).strip():
        rows.pop()
    width = min((len(text) - len(text.lstrip(" ")) for row in rows if (text := _joined(row)).strip()), default=0)
    return [(row[0]._replace(text=row[0].text[width:]), *row[1:]) for row in rows if row]


def _marked(excerpt: Excerpt) -> Iterator[Span]:
    end_before = 0
    for start, end in sorted(excerpt.marks):
        if start >= end_before:
            yield Span(excerpt.text[end_before:start])
            yield Span(excerpt.text[start:end], Style.MATCH)
            end_before = end
    yield Span(excerpt.text[end_before:])


def _joined(row: Sequence[Span]) -> str:
    return "".join(span.text for span in row)


def _explained(explanation: Explanation) -> str:
    parts = [
        _ranked("keyword", explanation.keyword_rank, explanation.keyword_score),
        _ranked("semantic", explanation.semantic_rank, explanation.semantic_score),
        *(f"{name} {value:+.2f}" for name, value in explanation.signals if round(value, 2)),
    ]
    return "; ".join(parts)


def _ranked(kind: str, rank: int | None, score: float | None) -> str:
    if score is None:
        return f"no {kind} score"
    place = "below the top results" if rank is None else f"rank {rank}"
    return f"{kind} {place} (score {score:.2f})"


def _path(hit: Hit) -> str:
    return single_line(exact_text(hit.path))


def _fields(hit: Hit, *, explain: bool) -> Iterator[str]:
    yield f"{_path(hit)}:{hit.excerpt.start_line}"
    yield f"{hit.score:.2f}"
    yield single_line(_heading(hit))
    yield single_line(" ".join(hit.excerpt.text.split()))
    if explain:
        yield single_line(_explained(hit.explanation))


def _numbered(hit: Hit) -> Iterator[str]:
    for number, text in enumerate(hit.text.removesuffix("\n").split("\n"), hit.start_line):
        tabs_kept = "\t".join(single_line(part) for part in text.removesuffix("\r").split("\t"))
        yield f"{_path(hit)}:{number}:{tabs_kept}"
