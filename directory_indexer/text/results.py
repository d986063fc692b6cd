"""Search results and file texts as lines: hits with matched words marked, the text of a file, and rows for programs.

Rows are columns, paths, `grep` output, Markdown and JSON Lines. The length of a row is bounded, whatever the file
contains; bytes of names are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from directory_indexer.api import to_json_object
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.kinds import GROUPS
from directory_indexer.ranking.query import parse_query
from directory_indexer.text.excerpts import (
    MAX_LINE_CHARS,
    StyledRange,
    describe_name_hit,
    excerpt_window,
    format_confidence,
    head_line,
    page_noun,
)
from directory_indexer.text.formatting import (
    Line,
    PathStyle,
    Span,
    Style,
    count,
    day,
    file_uri,
    line,
    printable,
    single_line,
)

with lazily:
    from directory_indexer.api.contents import metadata_of
    from directory_indexer.api.hits import page_range, passage_of
    from directory_indexer.integrations.previewing.colours import colours_of
    from directory_indexer.search.file_texts import FileText
    from directory_indexer.search.requests import DiskChange, Hit, SearchRequest, SearchResult

DEFAULT_LINES: Final = 4
"""Lines shown per hit on a terminal."""

_INDENT = 8
_SCORE_DIGITS = 2
_NUMBER_WIDTH = 6
_MAX_PAGES = 12
_MAX_AGREEMENTS = 2
_MAX_NEAR_MISSES = 3
_MAX_COPIES = 2
_NEAR_ZERO = 0.15
"""If nothing matches well, hits below this score are mentioned, not shown."""

_MIN_SCORE = 0.01
_ALL_LINES = 2**31
_MAX_COLOURED_CHARS = 20_000
"""Characters of code that are highlighted at most: some Pygments patterns are slow on text in no language."""

_CODE_STYLES: Final = {
    "keyword": Style.KEYWORD,
    "literal": Style.LITERAL,
    "comment": Style.NOTE,
    "definition": Style.DEFINITION,
}


class View(StrEnum):
    """Amount of each hit that is shown."""

    EXCERPTS = "excerpts"
    FILES = "files"
    SCORED_FILES = "scored files"
    FULL = "full"


_FILES = (View.FILES, View.SCORED_FILES)


def search_lines(
    result: SearchResult,
    *,
    paths: PathStyle,
    view: View = View.EXCERPTS,
    explain: bool = False,
    n_lines: int = DEFAULT_LINES,
) -> Iterator[Line]:
    """Format hits for a person: number, clickable location, heading, date and score, and the lines that matched.

    Hits by name form groups of their own.
    """
    hits = first_hit_per_file(result.hits) if view in _FILES else result.hits
    has_scores = _are_ranked(result.request)
    for number, (before, hit) in enumerate(zip((None, *hits), hits, strict=False), 1):
        if view not in _FILES:
            yield from _separator_lines(before, hit)
        yield head_line(number, hit, paths=paths, is_file=view in _FILES, has_score=has_scores)
        if view not in _FILES:
            yield from passage_lines(hit, _ALL_LINES if view is View.FULL else n_lines)
            if hit.n_more_in_file:
                more = count(hit.n_more_in_file, "more passage")
                yield line(Span(f"{more} in this file", Style.NOTE), indent=_INDENT)
            yield from _copy_lines(hit, paths)
        yield from _agreement_lines(hit)
        if explain:
            yield line(Span(format_explanation(hit), Style.NOTE), indent=_INDENT)


def passage_lines(hit: Hit, n_lines: int) -> Iterator[Line]:
    """Yield up to `n_lines` lines of the passage of a hit, or the names that matched if its text did not."""
    if not _is_name_alone(hit):
        yield from _numbered_lines(hit, n_lines)
    elif not hit.is_passage and hit.text:
        yield line(Span(", ".join(hit.text.splitlines()), Style.NOTE), indent=_INDENT)


def without_near_misses(result: SearchResult) -> tuple[SearchResult, tuple[Hit, ...]]:
    """Split off hits with negligible scores, if nothing matches well and not all hits were requested."""
    if not result.is_weak or not result.request.only_good:
        return result, ()
    hits = tuple(hit for hit in result.hits if hit.score >= _NEAR_ZERO)
    return result._replace(hits=hits), result.hits[len(hits) :]


def near_misses_note(near: Sequence[Hit], *, paths: PathStyle) -> str:
    """Return a one-line note about hits that were not shown."""
    named = ", ".join(f"{printable(paths.format(hit.path))}:{hit.excerpt.line}" for hit in near[:_MAX_NEAR_MISSES])
    more = f" and {len(near) - _MAX_NEAR_MISSES} more" if len(near) > _MAX_NEAR_MISSES else ""
    and_less, them = (" and less", "them") if len(near) > 1 else ("", "it")
    score = f", {near[0].score:.2f}{and_less}" if near[0].score >= _MIN_SCORE else ""
    return f"not near enough to show{score}: {named}{more}; --all shows {them}"


def search_notes(result: SearchResult, *, is_near: bool = False) -> tuple[str, ...]:
    """Return the notes on how far to trust an answer; `is_near` if it had near misses."""
    notes = (*result.note_texts, *(correction.note for correction in result.corrections))
    if not result.hits:
        return (*notes, "nothing matches well" if is_near else _reason_of_no_hits(result.request))
    weak = ("nothing matches well; this is the nearest there is",) if result.is_weak else ()
    return (*notes, *weak, *_freshness_notes(result.hits))


def closing_notes(result: SearchResult) -> tuple[str, ...]:
    """Return notes on what else could be requested, for standard error."""
    n_more = result.n_named - sum(hit.named is not None for hit in result.hits)
    return (
        *([f"{count(n_more, 'more name matches', 'more names match')}; more words narrow them"] if n_more > 0 else []),
        *(["hits that are much weaker than the best are left out; --all shows them"] if result.was_cut else []),
    )


def get_text(file_text: FileText, *, for_terminal: bool, is_numbered: bool = False) -> str:
    """Return the text of a file: exactly in a pipe, without control characters on a terminal."""
    text = _split_lines(file_text.text) if for_terminal else file_text.text
    if not is_numbered:
        return text
    rows = text.removesuffix("\n").split("\n")
    return "".join(f"{number:>6}\t{row}\n" for number, row in enumerate(rows, file_text.start_line))


def title_line(file_text: FileText, *, paths: PathStyle) -> str:
    """Return the header line above the text of one of several files."""
    return f"==> {single_line(paths.format(file_text.path))}:{file_text.start_line}-{file_text.end_line} <=="


def markdown(text: str, *, for_terminal: bool) -> str:
    """Return a converted document, escaped like `get_text` for a terminal."""
    return _split_lines(text) if for_terminal else text


def get_notes(file_text: FileText, *, paths: PathStyle) -> tuple[str, ...]:
    """Return notes on which part of a file was printed, and whether the file has changed, for standard error."""
    path = printable(paths.format(file_text.path))
    part = f"{path}: {_lines_between(file_text.start_line, file_text.end_line)} of {file_text.n_lines}"
    is_whole = file_text.start_line <= 1 and file_text.end_line >= file_text.n_lines
    became = "is gone" if file_text.on_disk is DiskChange.GONE else "has changed"
    changed = f"{path} {became} since it was indexed; this is the text as it was then"
    return (
        *(() if is_whole else (part,)),
        *_metadata_lines(file_text, path),
        *((changed,) if file_text.on_disk else ()),
        *_unread_page_notes(file_text.unread_pages, path),
    )


def heading_of(hit: Hit) -> str:
    """Return the location of a hit in its document: page, and heading or title."""
    noun = page_noun(hit.facts.kind) + ("s" if len(hit.pages) > 1 else "")
    page = f"{noun} {page_range(hit.page, hit.pages)}" if hit.page else ""
    return " · ".join(
        part for part in (page + format_confidence(hit), hit.heading or hit.facts.title, describe_name_hit(hit)) if part
    )


def date_of(hit: Hit) -> str:
    """Return the date of a document: its own, else that of the last modification on disk."""
    return "" if hit.dated_at is None else day(hit.dated_at)


def first_hit_per_file(hits: Sequence[Hit]) -> list[Hit]:
    """Return the first hit of each file."""
    first: dict[FilePath, Hit] = {}
    for hit in hits:
        first.setdefault(hit.path, hit)
    return list(first.values())


def format_explanation(hit: Hit) -> str:
    """Format the ranks of a hit, and the parts of its score."""
    explanation = hit.explanation.adding_up_to(hit.score, _SCORE_DIGITS)
    signs = (f"{'-' if part < 0 else '+'} {abs(part):.2f} {name}" for name, part in explanation.signals.items() if part)
    total = " ".join(signs).removeprefix("+ ")
    return "; ".join(
        [
            _format_rank("keyword", explanation.keyword_rank, explanation.keyword_score),
            _format_rank("semantic", explanation.semantic_rank, explanation.semantic_score),
            *([f"score {hit.score:.{_SCORE_DIGITS}f} = {total}"] if total else []),
        ]
    )


def _are_ranked(request: SearchRequest) -> bool:
    """Whether hits are ranked: those of a query with filters only are not."""
    queries = map(parse_query, (request.query, *request.queries))
    return any(query.text.strip() and not query.has_only_filters for query in queries)


def _separator_lines(before: Hit | None, hit: Hit) -> Iterator[Line]:
    """Separate a hit from the one before it; consecutive hits by name alone form a list without blank lines."""
    is_new_group = bool(hit.named) != bool(before and before.named)
    if before and (is_new_group or not (_is_name_alone(before) and _is_name_alone(hit))):
        yield line()
    if is_new_group:
        yield line(Span("by name" if hit.named else "in texts", Style.NOTE))


def _is_name_alone(hit: Hit) -> bool:
    """Whether a hit matched by name only, not by text."""
    return bool(hit.named) and not hit.excerpt.marks


def _copy_lines(hit: Hit, paths: PathStyle) -> Iterator[Line]:
    if hit.also_in:
        named = ", ".join(printable(paths.format(path)) for path in hit.also_in[:_MAX_COPIES])
        more = len(hit.also_in) - _MAX_COPIES
        yield line(Span(f"also in {named}{f' and {more} more' if more > 0 else ''}", Style.NOTE), indent=_INDENT)


def _reason_of_no_hits(request: SearchRequest) -> str:
    if not any(text.strip() for text in (request.query, *request.queries)) and not request.has_filters:
        return "the query is empty: ask a question, name some words, or give a filter such as since:7d"
    return "nothing found"


def _freshness_notes(hits: Sequence[Hit]) -> Iterator[str]:
    for became in (DiskChange.GONE, DiskChange.CHANGED):
        if paths := {hit.path for hit in hits if hit.on_disk is became}:
            files = f"of these, {count(len(paths), 'file')} {became}"
            yield f"{files} since the last run; dirindex index brings the index up to date"


def _split_lines(text: str) -> str:
    rows = text.removesuffix("\n").split("\n")
    return "".join(printable(row.removesuffix("\r")) + "\n" for row in rows)


def _lines_between(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _unread_page_notes(pages: Sequence[int], path: str) -> Iterator[str]:
    """Yield a note that names the first scanned pages whose text is missing."""
    if pages:
        more = f" and {len(pages) - _MAX_PAGES:,} more" if len(pages) > _MAX_PAGES else ""
        word = "page" if len(pages) == 1 else "pages"
        yield f"{path}: OCR has not read {word} {', '.join(map(str, pages[:_MAX_PAGES]))}{more}"


def _metadata_lines(file_text: FileText, path: str) -> Iterator[str]:
    """Yield a note with the title of a document and its metadata."""
    title = file_text.facts.title
    facts: Mapping[str, tuple[str, ...]] = {"title": (title,)} if title else {}
    facts = {**facts, **(metadata_of(file_text.metadata) or {})}
    if facts:
        yield f"{path}: " + "; ".join(f"{name} {single_line(', '.join(values))}" for name, values in facts.items())


def _numbered_lines(hit: Hit, n_lines: int) -> Iterator[Line]:
    for row in excerpt_window(hit, n_lines=n_lines, colours=_code_colours(hit.text, hit.facts.kind)):
        yield Line(row.spans, _INDENT, Span(f"{row.number:>{_NUMBER_WIDTH}}", Style.NOTE))


def _code_colours(text: str, kind: str) -> list[StyledRange]:
    if kind not in GROUPS["code"] or len(text) > _MAX_COLOURED_CHARS:
        return []
    return [StyledRange(start, end, _CODE_STYLES[style]) for start, end, style in colours_of(text, kind)]


def _agreement_lines(hit: Hit) -> Iterator[Line]:
    """Yield the passages of a similar file, each once, with the passage of the compared file that it resembles most."""
    best = {agreement.start_line: agreement for agreement in reversed(hit.agreements)}
    for agreement in sorted(best.values(), key=lambda agreement: -agreement.score)[:_MAX_AGREEMENTS]:
        yield line(
            Span(f"{'':{_INDENT}}{_format_line_range(agreement.start_line, agreement.end_line)}", Style.NOTE),
            Span(f"  {agreement.heading}" if agreement.heading else "", Style.PLACE),
            Span(f"  like {_format_line_range(agreement.own_start_line, agreement.own_end_line)}", Style.NOTE),
            Span(f"  {agreement.own_heading}" if agreement.own_heading else "", Style.PLACE),
            Span(f"  {agreement.score:.2f}", Style.NUMBER),
        )


def _format_line_range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _format_rank(kind: str, rank: int | None, score: float | None) -> str:
    if score is None:
        return f"no {kind} score"
    place = "below the top results" if rank is None else f"rank {rank}"
    return f"{kind} {place} (score {score:.2f})"


class Format(StrEnum):
    """Output formats of hits."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    TSV = "tsv"
    MD = "md"
    GREP = "grep"
    PATHS = "paths"
    NULL_PATHS = "paths ended by NUL"


TSV_COLUMNS: Final = ("path", "line", "end_line", "page", "score", "date", "kind", "heading", "excerpt")
_MAX_EXCERPT_CHARS = 200
_MAX_HEADING_CHARS = 100


def format_rows(
    result: SearchResult, form: Format, *, paths: PathStyle, view: View = View.EXCERPTS, explain: bool = False
) -> str:
    """Format hits line by line; JSON as a whole is written elsewhere."""
    match form:
        case Format.TSV:
            lines = ["\t".join(TSV_COLUMNS), *("\t".join(_tsv_columns(hit, paths)) for hit in result.hits)]
        case Format.JSONL:
            passages = (passage_of(hit, full=view is View.FULL, explain=explain) for hit in result.hits)
            lines = [json.dumps(to_json_object(passage)) for passage in passages]
        case Format.MD:
            lines = [line for number, hit in enumerate(result.hits, 1) for line in _markdown_lines(number, hit, paths)]
        case Format.GREP:
            lines = [line for hit in result.hits if hit.is_passage for line in _matching_lines(hit, paths)]
        case Format.PATHS:
            lines = [_path(hit, paths) for hit in first_hit_per_file(result.hits)]
        case Format.NULL_PATHS:
            return "".join(f"{paths.exact(hit.path)}\0" for hit in first_hit_per_file(result.hits))
        case _:
            return search_rows(result, paths=paths, view=view, explain=explain)
    return "".join(f"{line}\n" for line in lines)


def search_rows(result: SearchResult, *, paths: PathStyle, view: View = View.EXCERPTS, explain: bool = False) -> str:
    """Format hits for a pipe.

    A hit is one row of tab-separated fields: location, score, heading, excerpt, and with `explain` the reasons; heading
    and excerpt are shortened. With `View.FILES` it is the path alone, with `View.SCORED_FILES` path and score; with
    `View.FULL` each line of the chunk is preceded by its location, as in `grep -n`.
    """
    if view is View.FILES:
        lines = [_path(hit, paths) for hit in first_hit_per_file(result.hits)]
    elif view is View.SCORED_FILES:
        lines = [f"{_path(hit, paths)}\t{hit.score:.2f}" for hit in first_hit_per_file(result.hits)]
    elif view is View.FULL:
        lines = [line for hit in result.hits for line in _numbered_rows(hit, paths)]
    else:
        lines = ["\t".join(_row_fields(hit, paths, explain=explain)) for hit in result.hits]
    return "".join(f"{line}\n" for line in lines)


def _path(hit: Hit, paths: PathStyle) -> str:
    return single_line(paths.exact(hit.path))


def _row_fields(hit: Hit, paths: PathStyle, *, explain: bool) -> Iterator[str]:
    yield f"{_path(hit, paths)}:{hit.excerpt.line}"
    yield f"{hit.score:.2f}"
    yield _truncate(heading_of(hit), _MAX_HEADING_CHARS)
    yield _truncate(hit.excerpt.text, _MAX_EXCERPT_CHARS)
    if explain:
        yield single_line(format_explanation(hit))


def _tsv_columns(hit: Hit, paths: PathStyle) -> Iterator[str]:
    yield _path(hit, paths)
    yield str(hit.excerpt.line)
    yield str(hit.excerpt.end_line)
    yield str(hit.page or "")
    yield f"{hit.score:.3f}"
    yield date_of(hit)
    yield hit.facts.kind
    yield _truncate(heading_of(hit._replace(page=None)), _MAX_HEADING_CHARS)
    yield _truncate(hit.excerpt.text, _MAX_EXCERPT_CHARS)


def _truncate(text: str, most: int) -> str:
    line = " ".join(text.split())
    return single_line(line if len(line) <= most else f"{line[: most - 1]}…")


def _numbered_rows(hit: Hit, paths: PathStyle) -> Iterator[str]:
    for number, text in enumerate(hit.text.removesuffix("\n").split("\n"), hit.start_line):
        yield f"{_path(hit, paths)}:{number}:{_with_tabs(text.removesuffix(chr(13)))}"


def _with_tabs(text: str) -> str:
    return "\t".join(single_line(part) for part in text.split("\t"))


def _matching_lines(hit: Hit, paths: PathStyle) -> Iterator[str]:
    """Yield the lines that contain matches, or else the first line of the excerpt."""
    texts = hit.text.removesuffix("\n").split("\n")
    numbered_lines = excerpt_window(hit, n_lines=_ALL_LINES)
    marked = [
        numbered_line
        for numbered_line in numbered_lines
        if any(span.style is Style.MATCH for span in numbered_line.spans)
    ]
    for numbered_line in marked or excerpt_window(hit, n_lines=1):
        text = texts[numbered_line.number - hit.start_line].removesuffix("\r")
        yield f"{_path(hit, paths)}:{numbered_line.number}:{_with_tabs(text[:MAX_LINE_CHARS])}"


def _markdown_lines(number: int, hit: Hit, paths: PathStyle) -> Iterator[str]:
    place = re.sub(r"([\\\[\]`*_<])", r"\\\1", f"{_path(hit, paths)}:{hit.excerpt.line}")
    facts = [_truncate(heading_of(hit), _MAX_HEADING_CHARS), date_of(hit), f"{hit.score:.2f}"]
    yield f"{number}. [{place}]({file_uri(hit.path, page=hit.page)}) {' · '.join(fact for fact in facts if fact)}"
    yield ""
    if not hit.excerpt.text:
        return
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", hit.excerpt.text)), default=0))
    yield f"   {fence}{hit.facts.kind}"
    for text in hit.excerpt.text.rstrip().split("\n"):
        yield f"   {_with_tabs(text.removesuffix(chr(13)))}".rstrip()
    yield f"   {fence}"
    yield ""
