"""Text of a PDF outside of its page content: notes, alternative texts of figures, and values of XFA forms.

It becomes rows of the page that it belongs to, unless the page already has the same text. Page by page only the types
of annotations are looked up, which takes 14 µs each.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.formats.pdf.mupdf import MUPDF_ERRORS, pymupdf
from directory_indexer.formats.pdf.pages import Row, clean
from directory_indexer.formats.xml_events import read_xml


def annotations_of(page: Any) -> list[tuple[int, int]]:
    """Return the number and the type of each annotation of a page that may have a note or a file."""
    return [(xref, kind) for xref, kind, _ in page.annot_xrefs() if kind not in _KINDS_WITHOUT_NOTES][:_MAX_NOTES]


def notes_on(page: Any, text: str, annotations: Iterable[tuple[int, int]]) -> list[Row]:
    """Return the notes on a page and the comments on marked text, unless they are in its text."""
    rows: list[Row] = []
    for number, (xref, _) in enumerate(annotations):
        note = string_of(page.parent, xref, "Contents")
        if note and _without_spaces(note) not in _without_spaces(text):
            rows += _note_rows(note, *_corner(page, xref), block=-1 - number)
    return rows


def files_on(annotations: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return the numbers of the annotations with an attached file."""
    return tuple(xref for xref, kind in annotations if kind == pymupdf.PDF_ANNOT_FILE_ATTACHMENT)


def string_of(pdf: Any, xref: int, key: str) -> str:
    """Return a string of an object; "" if it has none."""
    kind, value = pdf.xref_get_key(xref, key)
    return str(value) if kind == "string" else ""


def alternative_texts(pdf: Any, content: bytes) -> dict[str, int]:
    """Return the alternative texts of a tagged PDF, each once, with the index of their page."""
    if pdf.xref_get_key(pdf.pdf_catalog(), "StructTreeRoot")[0] == "null":
        return {}
    texts: dict[str, str] = {}
    for xref in sorted(set(_objects_with_alternatives(pdf, content)))[:_MAX_ALTERNATIVES]:
        with suppress(*MUPDF_ERRORS):
            text = string_of(pdf, xref, "Alt")
            if text not in texts:
                texts[text] = str(pdf.xref_get_key(xref, "Pg")[1])
    pages = {f"{pdf.page_xref(index)} 0 R": index for index in range(pdf.page_count)} if texts else {}
    return {text: pages.get(page, 0) for text, page in texts.items() if text}


def form_values(pdf: Any) -> dict[str, str]:
    """Return the names of the fields of an XFA form, by the values filled in."""
    kind, value = pdf.xref_get_key(pdf.pdf_catalog(), "AcroForm/XFA")
    if kind not in ("xref", "array"):
        return {}
    stream = _REFERENCE.match(value) if kind == "xref" else _DATASETS.search(value)
    values = _FormValues()
    with suppress(*MUPDF_ERRORS, SkipFileError, ExtractionError):
        read_xml([(stream and pdf.xref_stream(int(stream[1]))) or b""], values)
    return values.names


def missing_rows(text: str, texts: Mapping[str, int], values: Mapping[str, str]) -> dict[int, list[Row]]:
    """Return the rows of alternative texts and values that are not in the text of the document, by page index."""
    compact_text = _without_spaces(text)
    rows: defaultdict[int, list[Row]] = defaultdict(list)
    for number, (alternative, page) in enumerate(texts.items()):
        if _without_spaces(alternative) not in compact_text:
            rows[page] += _note_rows(alternative, 0, _DEFAULT_TOP, block=-_MAX_NOTES - number)
    for value, name in values.items():
        if _without_spaces(value) not in compact_text:
            label = f"{name}: " if name.isalpha() else ""
            rows[0] += _note_rows(label + value, 0, _DEFAULT_TOP, block=-2 * _MAX_NOTES)
    return rows


class _FormValues:
    """Collects the names of elements within the data of a form, by their values."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._depth = 0
        self._text = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:  # noqa: ARG002 - the signature of handlers
        self._depth += bool(self._depth) or name == "data"
        self._text = ""

    def end(self, name: str) -> None:
        value = " ".join(self._text.split())
        if self._depth and len(value) > 1:
            self.names.setdefault(value, name)
        self._depth -= bool(self._depth)
        self._text = ""

    def text(self, text: str) -> None:
        self._text += text if self._depth else ""


def _objects_with_alternatives(pdf: Any, content: bytes) -> Iterator[int]:
    """Yield the numbers of objects that may have an alternative text, found in the bytes of the file.

    Querying every object of a long tagged document would take as long as reading its text.
    """
    for match in _ALTERNATIVE.finditer(content):
        number = _REVERSED_OBJECT.search(content[max(match.start() - _MAX_DISTANCE, 0) : match.start()][::-1])
        if number:
            yield int(number[1][::-1])
    for match in _OBJECT_STREAM.finditer(content):
        with suppress(*MUPDF_ERRORS):
            number = _REVERSED_OBJECT.search(content[max(match.start() - _MAX_DISTANCE, 0) : match.start()][::-1])
            yield from _objects_in_stream(pdf, int(number[1][::-1])) if number else ()


def _objects_in_stream(pdf: Any, xref: int) -> Iterator[int]:
    objects = pdf.xref_stream(xref) or b""
    places = [match.start() for match in _ALTERNATIVE.finditer(objects)]
    if places:
        first = int(pdf.xref_get_key(xref, "First")[1])
        header = [int(number) for number in objects[:first].split()]
        starts = header[1::2]
        for place in places:
            index = bisect_right(starts, place - first) - 1
            if index >= 0:
                yield header[2 * index]


def _corner(page: Any, xref: int) -> tuple[int, int]:
    numbers = [float(number) for number in _DECIMAL.findall(page.parent.xref_get_key(xref, "Rect")[1])]
    if len(numbers) != len(("left", "bottom", "right", "top")):
        return 0, _DEFAULT_TOP
    place = pymupdf.Rect(numbers).normalize() * page.transformation_matrix
    return int(place.x0 * _TENTHS), int(place.y0 * _TENTHS)


def _note_rows(text: str, left: int, top: int, *, block: int) -> list[Row]:
    """Return the lines of a text that is on no line of the page, too small to be taken for headings."""
    lines = [line for line in map(clean, text[:_MAX_CHARS].splitlines()) if line]
    return [Row(line, left, top, left, top + _NOTE_SIZE, _NOTE_SIZE, is_bold=False, block=block) for line in lines]


def _without_spaces(text: str) -> str:
    return "".join(text.split())


_KINDS_WITHOUT_NOTES: Final = frozenset({pymupdf.PDF_ANNOT_LINK, pymupdf.PDF_ANNOT_POPUP, pymupdf.PDF_ANNOT_WIDGET})
_MAX_NOTES: Final = 10_000
_MAX_ALTERNATIVES: Final = 1_000
"""The most objects that are queried, at 50 µs each; formula editors write an alternative text for every letter."""

_MAX_CHARS: Final = 100_000
_TENTHS: Final = 10.0
_NOTE_SIZE: Final = 60
_DEFAULT_TOP: Final = 4_000
_MAX_DISTANCE: Final = 2_000
_ALTERNATIVE: Final = re.compile(rb"/Alt\s*(?:\((?!(?:\xfe\xff)?\))|<(?!(?:FEFF)?>)(?=[0-9A-Fa-f]))", re.IGNORECASE)
"""One that is not empty, as most are in the files of some programs."""

_OBJECT_STREAM: Final = re.compile(rb"/ObjStm\b")
_REVERSED_OBJECT: Final = re.compile(rb"jbo\s+\d+\s+(\d+)")
"""The start of an object, `12 0 obj`, from its end."""

_DATASETS: Final = re.compile(r"\(datasets\)\s*(\d+) \d+ R")
_REFERENCE: Final = re.compile(r"(\d+) \d+ R")
_DECIMAL: Final = re.compile(r"-?\d*\.?\d+")
