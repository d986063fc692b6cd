"""Work of the preview workers, in which all untrusted content is parsed, with tables as rows of cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import singledispatch
from typing import Final

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.lazy import lazily
from directory_indexer.integrations.previewing.forms import DRAWN
from directory_indexer.integrations.previewing.requests import (
    ColourRequest,
    Colours,
    MarkdownRequest,
    Row,
    Rows,
    ScreenPage,
    ScreenRequest,
    TableRequest,
)
from directory_indexer.parsing.one_file import format_origin
from directory_indexer.parsing.tasks import WorkerFailure

with lazily:
    from directory_indexer.formats.pdf.rendering import draw_for_screen, encode_page
    from directory_indexer.integrations.previewing.colours import colours_of
    from directory_indexer.integrations.previewing.markdown import tree_of
    from directory_indexer.ocr.pages import content_of_page

_SEPARATED: Final = {"csv": ",", "tsv": "\t"}
_MAX_CELLS: Final = 64
_MAX_CELL_CHARS: Final = 2_000


def answer(request: object) -> object:
    """Return the answer to a request, or a failure with its reason."""
    try:
        return _answer(request)
    except (SkipFileError, ExtractionError) as error:
        return WorkerFailure(error.message)
    except OSError as error:
        return WorkerFailure((error.strerror or type(error).__name__).lower())
    except Exception as error:  # noqa: BLE001 - whatever a parser does over one document
        return WorkerFailure(format_origin(error))


@singledispatch
def _answer(request: object) -> object:
    raise TypeError(request)


@_answer.register
def _(request: ScreenRequest) -> object:
    content, kind = content_of_page(request.path, request.on_disk, request.policy)
    if kind not in DRAWN:
        raise ExtractionError(f"is not drawn: it is {kind}")
    drawn = draw_for_screen(content, kind, request.page)
    picture = encode_page(drawn.raster)
    return ScreenPage(picture.content, picture.media_type, picture.width, picture.height, drawn.n_pages, drawn.words)


@_answer.register
def _(request: ColourRequest) -> object:
    return Colours(tuple(colours_of(request.text, request.kind)))


@_answer.register
def _(request: MarkdownRequest) -> object:
    return tree_of(request.text, start_line=request.start_line)


@_answer.register
def _(request: TableRequest) -> object:
    return rows_of(request)


def rows_of(request: TableRequest) -> Rows:
    """Parse the rows of a table."""
    if request.kind in _SEPARATED:
        return Rows(tuple(_separated(request)))
    return Rows(tuple(_written(request)))


def _separated(request: TableRequest) -> Iterator[Row]:
    separator = _SEPARATED[request.kind]
    first = request.text.partition("\n")[0]
    if request.kind == "csv" and first.count(";") > first.count(","):
        separator = ";"
    csv.field_size_limit(1 << 24)
    reader = csv.reader(io.StringIO(request.text), delimiter=separator)
    line = request.start_line
    for cells in reader:
        if cells:
            yield Row(line, _bounded(cells))
        line = request.start_line + reader.line_num


def _written(request: TableRequest) -> Iterator[Row]:
    for line, text in enumerate(request.text.split("\n"), request.start_line):
        if text.startswith("| ") and text.endswith(" |"):
            yield Row(line, _bounded(text[2:-2].split(" | ")))
        elif text.strip():
            yield Row(line, (), text.lstrip("# "))


def _bounded(cells: list[str]) -> tuple[str, ...]:
    return tuple(cell[:_MAX_CELL_CHARS] for cell in cells[:_MAX_CELLS])
