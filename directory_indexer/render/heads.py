"""Heads of hits on a terminal: on one line, which is this hit, where it stands, how old it is and how good.

A place is written as people name it: a line of a text, a page, a row of a sheet, a commit by its title.
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
"""The repository of a commit, and as much of its name as git shows."""


def head_line(number: int, hit: Hit, *, paths: PathStyle, is_file: bool = False, has_score: bool = True) -> Line:
    """Write the head of a hit, or of a whole file; without a score where all that was asked for is as good."""
    commit = _COMMIT.search(hit.path)
    name = f"{commit[1]}@{commit[2]}" if commit else paths.shown(hit.path)
    place = "" if is_file else place_of(hit)
    link = "" if commit else file_uri(hit.path, page=hit.page)
    heading = (hit.facts.title or kind_of_place(hit)) if is_file or commit else _heading(hit)
    author = next(iter(hit.metadata.authors), "").partition(" <")[0] if commit else ""
    return line(
        Span(f"{number:>2}  ", Style.NOTE),
        Span(name + place, Style.HIT, link),
        Span(_set_off(heading), Style.PLACE),
        Span(_set_off(author), Style.NOTE),
        Span(_set_off(_date(hit)), Style.NOTE),
        Span(f"  {hit.score:.2f}" if has_score else "", Style.NUMBER),
        Span(f"  ({hit.on_disk} since it was indexed)" if hit.on_disk else "", Style.NOTE),
    )


def place_of(hit: Hit) -> str:
    """Write where in its file a hit stands, behind the path; "" where its lines are in no file that people open."""
    if not hit.is_passage:
        return ""
    if hit.row:
        return f", row {hit.row}"
    if hit.page:
        return f", page {hit.page}" + (f" (scanned, {hit.scan.confidence:.0%} sure)" if hit.scan else "")
    form = FORMATS.get(hit.facts.kind)
    is_read_in_lines = (form is None or form.is_text) and not _COMMIT.search(hit.path)
    return f":{hit.excerpt.line}" if is_read_in_lines else ""


def kind_of_place(hit: Hit) -> str:
    """Name what was found by its name alone."""
    if hit.named is None or hit.is_passage:
        return ""
    return "directory" if hit.named.is_directory else f"no text: {hit.named.why_without_text}"


def _heading(hit: Hit) -> str:
    heading = hit.heading or hit.facts.title
    if hit.facts.kind in SHEETS:
        heading = heading.partition(" > ")[0]  # what follows are the names of its columns
    return " · ".join(filter(None, (heading, kind_of_place(hit))))


def _date(hit: Hit) -> str:
    """Return the day of a document; that of code is the day of a checkout."""
    is_dated = hit.dated_at is not None and hit.facts.kind not in GROUPS["code"]
    return day(hit.dated_at) if is_dated and hit.dated_at is not None else ""


def _set_off(text: str) -> str:
    return f"  {text}" if text else ""
