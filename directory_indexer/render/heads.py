"""Head lines of hits on a terminal: number, path, location, heading, date and score on one line.

A location is a line of a text, a page, or a row of a sheet.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from directory_indexer.extractors.formats import FORMATS
from directory_indexer.extractors.kinds import GROUPS, SHEETS
from directory_indexer.render.printable import PathStyle, file_uri
from directory_indexer.render.quantities import day
from directory_indexer.render.spans import Line, Span, Style, line

if TYPE_CHECKING:
    from directory_indexer.searching.answers import Hit

_COMMIT: Final = re.compile(r"(?:^|[/\\])([^/\\]+)[/\\]\.git![/\\]commits[/\\]([0-9a-f]{7})[0-9a-f]*$")
"""Captures the repository and the abbreviated hash of a commit's path."""


def head_line(number: int, hit: Hit, *, paths: PathStyle, is_file: bool = False, has_score: bool = True) -> Line:
    """Format the head of a hit, or with `is_file` of a file; hits of filters alone have no score."""
    commit = _COMMIT.search(hit.path)
    name = f"{commit[1]}@{commit[2]}" if commit else paths.format(hit.path)
    place = "" if is_file else place_of(hit)
    link = "" if commit else file_uri(hit.path, page=hit.page)
    heading = (hit.facts.title or kind_of_place(hit)) if is_file or commit else _heading(hit)
    author = next(iter(hit.metadata.authors), "").partition(" <")[0] if commit else ""
    return line(
        Span(f"{number:>2}  ", Style.NOTE),
        Span(name + place, Style.HIT, link),
        Span(_separated(heading), Style.PLACE),
        Span(_separated(author), Style.NOTE),
        Span(_separated(_date(hit)), Style.NOTE),
        Span(f"  {hit.score:.2f}" if has_score else "", Style.NUMBER),
        Span(f"  ({hit.on_disk} since it was indexed)" if hit.on_disk else "", Style.NOTE),
    )


def place_of(hit: Hit) -> str:
    """Format the location of a hit in its file, to follow the path; "" if the reader sees no lines."""
    if not hit.is_passage:
        return ""
    if hit.row:
        return f", row {hit.row}{f', {hit.cell}' if hit.cell else ''}"
    if hit.page:
        return f", page {hit.page}{certainty(hit)}"
    file_format = FORMATS.get(hit.facts.kind)
    has_lines = (file_format is None or file_format.is_text) and not _COMMIT.search(hit.path)
    return f":{hit.excerpt.line}" if has_lines else ""


def certainty(hit: Hit) -> str:
    """Format the OCR confidence of a scanned page, to follow its number; "" for other pages."""
    return f" (scanned, {hit.scan.confidence:.0%} sure)" if hit.scan else ""


def kind_of_place(hit: Hit) -> str:
    """Return what a hit by name alone is: a directory, or a file without text and the reason."""
    if hit.named is None or hit.is_passage:
        return ""
    return "directory" if hit.named.is_directory else f"no text: {hit.named.why_without_text}"


def _heading(hit: Hit) -> str:
    heading = hit.heading or hit.facts.title
    if hit.facts.kind in SHEETS:
        heading = heading.partition(" > ")[0]  # the names of its columns follow
    return " · ".join(filter(None, (heading, kind_of_place(hit))))


def _date(hit: Hit) -> str:
    """Return the day of a document; code has none, since its date is that of the checkout."""
    return "" if hit.dated_at is None or hit.facts.kind in GROUPS["code"] else day(hit.dated_at)


def _separated(text: str) -> str:
    return f"  {text}" if text else ""
