"""Lines of a page whose text alone does not tell what is printed: they are read again by their spans or glyphs.

Marks that are raised or lowered show in the sizes of spans; the spaces of letter-spaced words, and the order of numbers
in a line from right to left, follow from where each glyph stands. To look at all of that would double what a page
takes, so only pages and lines are looked at whose text hints at it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Any, Final, NamedTuple

from directory_indexer.extractors.pdf.opening import mupdf

Blocks = Sequence[dict[str, Any]]


def reread_lines(blocks: Blocks, page: Any, spans_of: Callable[[], Blocks]) -> None:
    """Replace the text of such lines; `page` is the text of MuPDF that they are of, parted into spans on demand."""
    lines = [line for block in blocks for line in block.get("lines", ())]
    if any(_MARK.search(line["text"]) for line in lines):
        _part_marks(blocks, spans_of())
    wanted = {
        (number, index)
        for number, block in enumerate(blocks)
        for index, line in enumerate(block.get("lines", ()))
        if _SPACED.search(line["text"]) or _is_of_two_directions(line["text"])
    }
    for (number, index), glyphs in _glyphs_of(page, wanted):
        line = blocks[number]["lines"][index]
        if "".join(glyph.character for glyph in glyphs) == line["text"]:
            line["text"] = _text_of(glyphs)


def _is_of_two_directions(text: str) -> bool:
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None and _ASCII_WORD.search(text) is not None


def _part_marks(blocks: Blocks, parted: Blocks) -> None:
    """Join what is set lower, as in formulas, to what it belongs to, and part the numbers of notes from their words."""
    for block, of_spans in zip(blocks, parted, strict=False):
        spans = iter(of_spans.get("lines", ()))
        for line in block.get("lines", ()):
            of_line: list[dict[str, Any]] = []
            while sum(len(span["text"]) for span in of_line) < len(line["text"]) and (span := next(spans, None)):
                of_line.append(span)
            if "".join(span["text"] for span in of_line) != line["text"]:
                return
            if len(of_line) > 1:
                line["text"] = _with_marks_apart(of_line)


def _with_marks_apart(spans: Sequence[dict[str, Any]]) -> str:
    """Return a line with the numbers of notes at its end, where they stand within no phrase."""
    main = max(spans, key=lambda span: (span["font"]["size"], len(span["text"])))
    size, foot = main["font"]["size"], _foot(main)
    text, marks = "", ""
    for span in spans:
        is_small = span["font"]["size"] < _SMALL * size
        if is_small and _foot(span) >= foot - _RAISED * size and text[-1:].isalpha():
            text += span["text"].lstrip()
        elif is_small and _IS_MARK.fullmatch(span["text"]) and _ENDS_WORD.search(text):
            marks += " " + span["text"].strip()
        else:
            text += span["text"]
    if marks and not text[-1:].isalnum() and not text.endswith((",", " ")):
        return "".join(f" {span['text']}" if _IS_MARK.fullmatch(span["text"]) else span["text"] for span in spans)
    return text.rstrip() + marks if marks else text


def _foot(span: dict[str, Any]) -> float:
    return float(span["bbox"]["y"] + span["bbox"]["h"])


class _Glyph(NamedTuple):
    character: str
    left: float
    right: float
    size: float
    is_made_up: bool
    """Whether it is a space that is nowhere in the file but between two glyphs."""


def _glyphs_of(page: Any, wanted: set[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], list[_Glyph]]]:
    numbers = {number for number, _ in wanted}
    for number, block in enumerate(page if wanted else ()):
        if number not in numbers or block.m_internal.type != mupdf.FZ_STEXT_BLOCK_TEXT:
            continue
        for index, line in enumerate(block):
            if (number, index) in wanted:
                yield (number, index), [_glyph(character.m_internal) for character in line]


def _glyph(character: Any) -> _Glyph:
    quad = character.quad
    return _Glyph(chr(character.c), quad.ll.x, quad.lr.x, character.size, bool(character.flags & _SYNTHETIC))


def _text_of(glyphs: Sequence[_Glyph]) -> str:
    if any(_RIGHT_TO_LEFT.match(glyph.character) for glyph in glyphs):
        return _from_right_to_left(glyphs)
    return "".join(glyph.character for glyph in _without_letter_spacing(glyphs))


def _from_right_to_left(glyphs: Sequence[_Glyph]) -> str:
    """Return the text of a line in the order of reading: from right to left, with numbers the other way."""
    n_other = sum(glyph.character.isascii() and glyph.character.isalpha() for glyph in glyphs)
    n_own = sum(bool(_RIGHT_TO_LEFT.match(glyph.character)) for glyph in glyphs)
    if n_other > n_own:
        return "".join(glyph.character for glyph in glyphs)
    ordered = sorted(glyphs, key=lambda glyph: -round(glyph.left))
    text = "".join(glyph.character for glyph in ordered)
    return _LEFT_TO_RIGHT.sub(lambda stretch: stretch[0][::-1], text)


def _without_letter_spacing(glyphs: Sequence[_Glyph]) -> Iterable[_Glyph]:
    """Leave out the spaces within words whose letters are set apart."""
    letters = [index for index, glyph in enumerate(glyphs) if not glyph.character.isspace()]
    gaps = {second: glyphs[second].left - glyphs[first].right for first, second in pairwise(letters)}
    spaced = [second for first, second in pairwise(letters) if second > first + 1]
    usual, size = median(gaps[second] for second in spaced), glyphs[0].size
    n_made_up = sum(glyph.is_made_up for glyph in glyphs)
    is_set_apart = len(spaced) >= _MOST * (len(letters) - 1) and usual < size
    if not is_set_apart or (n_made_up < len(spaced) / 2 and usual < _WIDER_THAN_SPACE * size):
        return glyphs
    within = {second for second in spaced if gaps[second] < _NEXT_WORD * usual}
    dropped = {index for first, second in pairwise(letters) if second in within for index in range(first + 1, second)}
    return [glyph for index, glyph in enumerate(glyphs) if index not in dropped]


_SYNTHETIC: Final = 4
_SMALL: Final = 0.8
_RAISED: Final = 0.25
_MOST: Final = 0.6
_NEXT_WORD: Final = 1.6
_WIDER_THAN_SPACE: Final = 0.45

_SPACED: Final = re.compile(r"(?:\b\w ){4}\w\b")
_MARK: Final = re.compile(
    r"[a-z]{3}[.,;)]?\d{1,3}(?:[,\u2013-]\d{1,3})*(?!\w)"
    r"|\b(?:[CSN]O|N?H|CH|PM|[ONC]|Ca|Si|Ti|Fe|Al|Na){1,3} \d{1,2}\b"
)
"""What a number that is raised behind a word, or lowered behind the sign of an element, may look like."""

_IS_MARK: Final = re.compile(r"\s?(?:\d{1,3}(?:[,\u2013-]\d{1,3})*|[*\u2020\u2021])\s?")
_ENDS_WORD: Final = re.compile(r"[^\W\d_A-Z]{3}[.,;:)\u201d\"]?$")
_ASCII_WORD: Final = re.compile(r"[0-9A-Za-z]")
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LEFT_TO_RIGHT: Final = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z .,:/%+@-]*[0-9A-Za-z%])?")
