"""Jupyter notebooks of format 3 and 4: the cells as a reader sees them, instead of their JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.document import Document, Heading, sections_of
from directory_indexer.formats.markup import markdown_headings, title_of


def extract_notebook(text: str, kind: str) -> Document:
    """Return the text of the cells and the beginning of their outputs; images and other media are left out.

    Raises:
        ExtractionError: the file is not the JSON of a notebook.

    """
    parts: list[str] = []
    headings: list[Heading] = []
    length = 0
    for number, cell in enumerate(_cells(_parse_notebook(text)), 1):
        headings += _headings(cell, number, length)
        parts.append(cell.text + "\n\n")
        length += len(parts[-1])
    return Document("".join(parts), kind, title_of(tuple(headings)), sections_of(headings))


class _Cell(NamedTuple):
    kind: str
    text: str


def _parse_notebook(text: str) -> dict[str, Any]:
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ExtractionError(f"not a valid notebook: {error}") from error
    if not isinstance(notebook, dict):
        raise ExtractionError("not a valid notebook: no object at the top")
    return notebook


def _cells(notebook: dict[str, Any]) -> Iterator[_Cell]:
    for source in _raw_cells(notebook):
        kind = source.get("cell_type")
        text = _join_lines(source.get("source", source.get("input")))
        if kind == "heading":
            level = source.get("level")
            text = "#" * (level if isinstance(level, int) and level in _LEVELS else 1) + " " + text
            kind = "markdown"
        outputs = "\n".join(_outputs(source))
        text = _storable("\n".join(filter(None, (text.rstrip(), outputs))))
        if text.strip():
            yield _Cell(str(kind), text)


def _raw_cells(notebook: dict[str, Any]) -> Iterator[dict[str, Any]]:
    sheets = _dicts(notebook.get("worksheets"))
    cells = notebook.get("cells")
    if not isinstance(cells, list) and not sheets:
        raise ExtractionError("not a valid notebook: it has no cells")
    for holder in (notebook, *sheets):
        yield from _dicts(holder.get("cells"))


def _headings(cell: _Cell, number: int, offset: int) -> Iterator[Heading]:
    yield Heading(offset, _CELL_LEVEL, f"cell {number}")
    if cell.kind == "markdown":
        yield from (heading._replace(start=heading.start + offset) for heading in markdown_headings(cell.text))


def _outputs(cell: dict[str, Any]) -> Iterator[str]:
    for output in _dicts(cell.get("outputs")):
        media = output.get("data")
        text_source = media.get("text/plain") if isinstance(media, dict) else output.get("text")
        if output.get("output_type") in {"error", "pyerr"}:
            text_source = f"{output.get('ename', '')}: {output.get('evalue', '')}"
        if text := _TERMINAL_ESCAPE.sub("", _join_lines(text_source)[:_MAX_OUTPUT]).strip("\n"):
            yield text


def _dicts(value: object) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _join_lines(value: object) -> str:
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _storable(text: str) -> str:
    # JSON can spell halves of surrogate pairs, which no store takes, and the line ends of any system.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")


_MAX_OUTPUT: Final = 1_000
_LEVELS: Final = range(1, 7)
_CELL_LEVEL: Final = 7
_TERMINAL_ESCAPE: Final = re.compile(r"\x1b\[[0-9;]*[a-zA-Z]")
