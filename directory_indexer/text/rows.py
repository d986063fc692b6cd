"""Hits for pipes and programs that read lines: columns, paths, `grep` output, Markdown and JSON Lines.

The length of a row is bounded, whatever the file contains; bytes of names are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from directory_indexer.api.fields import to_json_object
from directory_indexer.core.lazy import lazily
from directory_indexer.text.excerpts import MAX_LINE_CHARS, excerpt_window
from directory_indexer.text.formatting import PathStyle, Style, file_uri, single_line
from directory_indexer.text.results import View, date_of, first_hit_per_file, format_explanation, heading_of

with lazily:
    from directory_indexer.api.hits import passage_of
    from directory_indexer.search.requests import Hit, SearchResult


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
_ALL_LINES = 2**31


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
        yield single_line(format_explanation(hit.explanation))


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
