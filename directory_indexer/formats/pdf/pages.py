"""Pages of a printed document: rows of text with position and typography, in reading order.

Lengths are tenths of a point, from the upper left corner. Text recognised by OCR becomes rows among those of the text
layer, and the characters that fonts and typesetting leave in a PDF are normalised.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from directory_indexer.core.files import PAGE_UNITS, Box, Line, Recognition, Scan, rotate_box

_MARGIN_SHARE = 0.2
_MAX_EDGE_ROWS = 16
_NEARBY_PAGES = 4
_MIN_REPEATS = 2
_MAX_RUNS = 100
_MIN_LARGER_RATIO = 1.15
_MIN_GAP_RATIO = 0.7
_MIN_DROP_CAP_RATIO = 1.8
_MIN_WORD_GAP_RATIO = 0.2
_WORDS_OF_ONE_LETTER = frozenset("AIOEYÀ")
_MAX_NUMBERED_ROW = 100
_FIRST_NUMBER = re.compile(r"[-\u2013\u2014|\s]*(\d{1,5})(?=[-\u2013\u2014|\s]|$)")
_LAST_NUMBER = re.compile(
    r"(?:^|[-\u2013\u2014|\s])(\d{1,5})(?:\s?(?:/|of|von|de|sur|di)\s?\d{1,5})?[-\u2013\u2014|\s]*$"
)
_ROMAN_NUMERAL = re.compile(r"[^\w]{0,3}[ivxlc]{1,8}[^\w]{0,3}", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_PAGE_WORDS = frozenset(
    "page pages pag seite seiten página páginas pagina pagine blatt sheet slide folie strona".split()
)
_MIN_LETTERS = 3
_CLOSING = "\"')]}\u00bb\u201d\u2019\u203a\u300d\u300f\uff09"
_ENDS_SENTENCE = tuple(".!?:\u2026\u3002\uff01\uff1f\uff1a")
_ROMAN_PAGE_NUMBER = "a page number in Roman digits"

IDEOGRAPHS = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""The characters, as in a regular expression, of scripts written without spaces and broken anywhere."""

# Control characters, invisible ones, and those of private use: fonts put bullets and ornaments there.
_JUNK_CHARACTERS = "\0-\x08\x0e-\x1f\x7f-\x9f\u200b\u2060\ufeff\ud800-\udfff\ue000-\uf8ff"
_JUNK = re.compile(f"[{_JUNK_CHARACTERS}]")
# A soft hyphen printed within a row is a hyphen that its font misnames.
_PRINTED_HYPHEN = re.compile("\u00ad(?=.)")
_ARABIC_FORM_CHARACTERS = "\ufb50-\ufdff\ufe70-\ufefc"
_ARABIC_FORMS = re.compile(f"[{_ARABIC_FORM_CHARACTERS}]+")
_SPACED_IDEOGRAPHS = re.compile(rf"(?<=[{IDEOGRAPHS}]) (?=[{IDEOGRAPHS}])")
_LEADERS = re.compile(r"(?: ?\.){4,}")
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})

# The older fonts of TeX have no accented letters: the accent is a character of its own, set before the letter.
_ACCENTS = dict(
    zip(
        "\u00b4\u00a8\u02c6\u02dc\u02c7\u02d8\u02da\u02dd\u02d9\u02cb",
        "\u0301\u0308\u0302\u0303\u030c\u0306\u030a\u030b\u0307\u0300",
        strict=True,
    )
)
_ACCENTED = re.compile(f"([{''.join(_ACCENTS)}])([A-Za-z\u0131])")
_UNUSUAL = re.compile(
    f"[\u00ad\ufffd{_JUNK_CHARACTERS}{_ARABIC_FORM_CHARACTERS}{IDEOGRAPHS}"
    f"{''.join(map(chr, _LIGATURES))}{''.join(_ACCENTS)}]"
)

_MIN_HEADING_RATIO = 1.6
"""Lines so much higher than others are headings; the heights of recognised letters vary."""

_SIDEWAYS = (90, 270)
_DEFAULT_SIZE = 100
_LINE_HEIGHT = 140


class Cell(NamedTuple):
    """A part of a row that is separated from the others by a gap."""

    left: int
    right: int
    text: str


class Row(NamedTuple):
    """One printed row of text; rows of one block belong together, as the lines of a paragraph do.

    `cells` are its parts, if it has several. With `is_ruled` it is a row of a table with ruling lines.
    """

    text: str
    left: int
    top: int
    right: int
    bottom: int
    size: int
    is_bold: bool
    block: int
    cells: tuple[Cell, ...] = ()
    is_ruled: bool = False


def join_side_by_side(rows: Sequence[Row]) -> Row:
    """Return one row made of several that stand next to each other, from left to right."""
    if len(rows) == 1:
        return rows[0]
    return rows[0]._replace(
        text=" ".join(row.text for row in rows),
        left=min(row.left for row in rows),
        top=min(row.top for row in rows),
        right=max(row.right for row in rows),
        bottom=max(row.bottom for row in rows),
        cells=tuple(cell for row in rows for cell in row.cells or (Cell(row.left, row.right, row.text),)),
    )


def join_drop_caps(rows: Sequence[Row]) -> list[Row]:
    """Return rows with each drop cap, printed over several lines, joined to the first of the lines next to it."""
    if not any(len(row.text) == 1 for row in rows):
        return list(rows)
    joined: list[Row] = []
    for row in rows:
        letter = joined[-1] if joined else None
        if letter and _is_drop_cap(letter, row):
            space = (
                " "
                if letter.text in _WORDS_OF_ONE_LETTER and row.left - letter.right > row.size * _MIN_WORD_GAP_RATIO
                else ""
            )
            joined[-1] = row._replace(text=letter.text + space + row.text, left=letter.left)
        else:
            joined.append(row)
    return joined


@dataclass(frozen=True, slots=True)
class Page:
    """The rows of one page, whose number counts from 1; `scan` describes its OCR, pending or done.

    `files` are the numbers of the annotations with an attached file.
    """

    number: int
    height: int
    rows: tuple[Row, ...]
    scan: Scan | None = None
    files: tuple[int, ...] = ()


def body_size(pages: Iterable[Page]) -> int:
    """Return the size in which most of the text is printed."""
    sizes: Counter[int] = Counter()
    for page in pages:
        for row in page.rows:
            sizes[row.size] += len(row.text)
    return max(sizes, key=lambda size: (sizes[size], size), default=0)


def is_larger(row: Row, than: int) -> bool:
    """Whether a row is printed clearly larger than a size."""
    return row.size >= than * _MIN_LARGER_RATIO


def in_reading_order(page: Page) -> Page:
    """Return a page with runs of rows that were drawn late moved to where they stand.

    Programs draw text in reading order with few exceptions (of 22,000 pages, one in thirteen has one, mostly a header),
    and sorting by position would mix columns. So only a run that is wholly above another one is moved before it.
    """
    runs: list[list[Row]] = []
    for row in page.rows:
        if runs and _follows(runs[-1][-1], row):
            runs[-1].append(row)
        else:
            runs.append([row])
    if not 1 < len(runs) <= _MAX_RUNS:
        return page
    ordered: list[list[Row]] = []
    for run in runs:
        bottom = max(row.bottom for row in run)
        index = len(ordered)
        while index and all(bottom <= row.top + row.size // 2 for row in ordered[index - 1]):
            index -= 1
        ordered.insert(index, run)
    return replace(page, rows=tuple(row for run in ordered for row in run))


def remove_running_rows(pages: Sequence[Page]) -> list[Page]:
    """Return pages without repeated headers, footers and page numbers.

    A text may be repeated because it is a header, or because slides build up: its first occurrence stays. Rows with a
    page number are compared without it.
    """
    edges = [edge for page in pages for edge in _edges(page)]
    repeats = _Repeats(edges, body_size(pages))
    running: defaultdict[int, _Running] = defaultdict(lambda: _Running(set(), set(), set()))
    seen_texts = {""}
    for edge in edges:
        for row in repeats.running_rows(edge):
            text = repeats.without_page_number(row, edge.page)
            of_page = running[edge.page]
            (of_page.repeated if text in seen_texts else of_page.feet if edge.is_foot else of_page.heads).add(row)
            seen_texts.add(text)
    bodies = [running[page.number].body(page) if page.number in running else page.rows for page in pages]
    around = zip(pages, [(), *bodies], bodies, [*bodies[1:], ()], strict=False)
    return [
        replace(page, rows=_rows_around(page, running[page.number], *bodies_around)) if page.number in running else page
        for page, *bodies_around in around
    ]


def ends_sentence(text: str) -> bool:
    """Whether a row ends a sentence."""
    return text.rstrip(_CLOSING).endswith(_ENDS_SENTENCE)


def clean(text: str) -> str:
    """Return a row of a page as one would type it; a soft hyphen at its end stays, since it marks a split word."""
    text = " ".join(text.split())
    if not (text.isascii() and text.isprintable()) and _UNUSUAL.search(text):
        if "\ufffd" in text:
            text = " ".join(text.replace("\ufffd", " ").split())
        text = _PRINTED_HYPHEN.sub("-", _JUNK.sub("", text).translate(_LIGATURES))
        text = _ACCENTED.sub(_accented, _ARABIC_FORMS.sub(_normalise_forms, text))
        text = _SPACED_IDEOGRAPHS.sub("", text).strip()
    return _LEADERS.sub(" …", text) if "...." in text or ". . ." in text else text


def recognised_rows(recognition: Recognition, *, width: int, height: int, existing: Sequence[Row] = ()) -> list[Row]:
    """Return the recognised lines of a page, whose size is in tenths of a point, without those in `existing`.

    Without `existing` rows, a page scanned sideways is turned upright, so that its order is the reading order.
    """
    turn = 0 if existing else recognition.turn
    if turn in _SIDEWAYS:
        width, height = height, width
    first_block = max((row.block for row in existing), default=-1) + 1
    lines = [line for line in recognition.lines if line.words]
    heights = [_height(line, turn) * height // PAGE_UNITS for line in lines]
    usual = int(median(line_height for line_height in heights if line_height)) if any(heights) else _DEFAULT_SIZE
    rows = [
        Row(
            clean(line.text),
            *_bounds(line, number, (width, height), turn),
            # The box of a slanted line is higher than its words.
            size=line_height if line_height > _MIN_HEADING_RATIO * usual else usual,
            is_bold=False,
            block=first_block + line.block,
        )
        for number, (line, line_height) in enumerate(zip(lines, heights, strict=True))
    ]
    return [row for row in rows if row.text and not any(_is_centred_in(row, other) for other in existing)]


def _is_drop_cap(letter: Row, row: Row) -> bool:
    if len(letter.text) != 1 or not letter.text.isupper() or letter.size < row.size * _MIN_DROP_CAP_RATIO:
        return False
    is_beside = (
        letter.top - row.size <= row.top < row.bottom <= letter.bottom and 0 <= row.left - letter.right < row.size
    )
    return is_beside and row.text[:1].isalpha()


def _follows(previous: Row, row: Row) -> bool:
    return row.bottom > previous.top or row.left >= previous.right


class _Running(NamedTuple):
    """The running rows of a page: the first of their kind at its head and foot, and repetitions."""

    heads: set[Row]
    feet: set[Row]
    repeated: set[Row]

    def body(self, page: Page) -> tuple[Row, ...]:
        """Return the rows of the page without those of its head and foot."""
        rows = self.heads | self.feet | self.repeated
        return tuple(row for row in page.rows if row not in rows)


def _rows_around(
    page: Page, running: _Running, before: Sequence[Row], body: Sequence[Row], after: Sequence[Row]
) -> tuple[Row, ...]:
    """Return the rows to keep; a head or foot that interrupts a sentence across pages moves to another end.

    `before` and `after` are the rows between head and foot of the neighbours, and `body` those of the page.
    """
    rows = [row for row in page.rows if row not in running.repeated]
    moves_heads = running.heads and _sentence_continues(before, body)
    moves_feet = running.feet and _sentence_continues(body, after)
    if not (moves_heads or moves_feet):
        return tuple(rows)
    ends = [index + 1 for index, row in enumerate(body) if ends_sentence(row.text)]
    heads_at = min(ends, default=len(body)) if moves_heads else 0
    feet_at = max(ends, default=0) if moves_feet else len(body)
    heads, feet = ([row for row in rows if row in moved] for moved in (running.heads, running.feet))
    heads_at = min(heads_at, feet_at)
    return (*body[:heads_at], *heads, *body[heads_at:feet_at], *feet, *body[feet_at:])


def _sentence_continues(above: Sequence[Row], below: Sequence[Row]) -> bool:
    """Whether a sentence continues on the next page."""
    return bool(above and below) and not ends_sentence(above[-1].text) and below[0].text[:1].islower()


class _Edge(NamedTuple):
    """The rows near the top or bottom of a page, outermost first, with the gap between each and the next inside."""

    page: int
    rows: tuple[tuple[Row, int], ...]
    is_foot: bool


def _edges(page: Page) -> Iterator[_Edge]:
    margin = int(page.height * _MARGIN_SHARE)
    rows = [row for row in page.rows if not row.is_ruled]
    down = sorted(rows, key=lambda row: row.top)
    up = sorted(rows, key=lambda row: -row.bottom)
    top = [(row, below.top - row.bottom) for row, below in pairwise(down) if row.bottom <= margin]
    bottom = [(row, row.top - above.bottom) for row, above in pairwise(up) if row.top >= page.height - margin]
    yield _Edge(page.number, tuple(top[:_MAX_EDGE_ROWS]), is_foot=False)
    yield _Edge(page.number, tuple(bottom[:_MAX_EDGE_ROWS]), is_foot=True)


class _Repeats:
    """The pages on which each edge text occurs, and the offsets between page numbers and printed numbers.

    Only repetition nearby counts, since each chapter may have its own header.
    """

    def __init__(self, edges: Sequence[_Edge], body_size: int) -> None:
        self._body_size = body_size
        self._pages_by_text: defaultdict[str, set[int]] = defaultdict(set)
        self._pages_by_offset: defaultdict[int, set[int]] = defaultdict(set)
        self._offsets: defaultdict[int, set[int]] = defaultdict(set)
        for edge in edges:
            for row, _ in edge.rows:
                self._pages_by_text[_text_to_compare(row)].add(edge.page)
                for offset in self._offsets_of(row, edge.page):
                    self._pages_by_offset[offset].add(edge.page)
                    self._offsets[edge.page].add(offset)

    def running_rows(self, edge: _Edge) -> list[Row]:
        """Return the outermost repeated rows, as far as white space separates them from the text."""
        n_running = 0
        for index, (row, gap) in enumerate(edge.rows):
            if not (
                _is_nearby(self._pages_by_text[_text_to_compare(row)], edge.page) or self.is_page_number(row, edge.page)
            ):
                break
            if gap >= row.size * _MIN_GAP_RATIO:
                n_running = index + 1
        return [row for row, _ in edge.rows[:n_running]]

    def is_page_number(self, row: Row, page: int) -> bool:
        if _ROMAN_NUMERAL.fullmatch(row.text):
            return True
        offset = self._offset(page)
        return offset in self._offsets_of(row, page) and _is_nearby(self._pages_by_offset[offset], page)

    def without_page_number(self, row: Row, page: int) -> str:
        """Return the text of a row without its page number; "" if only the word for a page remains."""
        if not self.is_page_number(row, page):
            return row.text
        text = row.text
        for number in self._numbers_in(row):
            if int(number[1]) - page == self._offset(page):
                text = text[: number.start()] + text[number.end() :]
        words = [word for word in _WORD.findall(text) if word.casefold() not in _PAGE_WORDS]
        is_number_alone = sum(map(len, words)) < _MIN_LETTERS or _ROMAN_NUMERAL.fullmatch(row.text)
        return "" if is_number_alone else " ".join(text.split())

    def _offset(self, page: int) -> int | None:
        # Of the numbers that grow with the pages, as footnotes may, too, those that do so the longest are page numbers.
        return max(self._offsets[page], key=lambda offset: len(self._pages_by_offset[offset]), default=None)

    def _offsets_of(self, row: Row, page: int) -> set[int]:
        return {int(number[1]) - page for number in self._numbers_in(row)}

    def _numbers_in(self, row: Row) -> list[re.Match[str]]:
        """Return the numbers at the end and at the start of a row that may be page numbers."""
        if len(row.text) > _MAX_NUMBERED_ROW or (is_larger(row, self._body_size) and not row.text.isdecimal()):
            return []  # a paragraph, or a heading with its number
        return [number for number in (_LAST_NUMBER.search(row.text), _FIRST_NUMBER.match(row.text)) if number]


def _text_to_compare(row: Row) -> str:
    return _ROMAN_PAGE_NUMBER if _ROMAN_NUMERAL.fullmatch(row.text) else row.text


def _is_nearby(pages: set[int], page: int) -> bool:
    nearby = (page + distance for distance in range(-_NEARBY_PAGES, _NEARBY_PAGES + 1) if distance)
    return sum(other in pages for other in nearby) >= _MIN_REPEATS


def _normalise_forms(forms: re.Match[str]) -> str:
    """Replace Arabic presentation forms, of which one may be two letters, by the letters."""
    return unicodedata.normalize("NFKC", forms[0])


def _accented(match: re.Match[str]) -> str:
    letter = unicodedata.normalize("NFC", match[2].replace("\u0131", "i") + _ACCENTS[match[1]])
    return letter if len(letter) == 1 else match[0]


def _height(line: Line, turn: int) -> int:
    """Return the usual height of the words of a line; 0 if the engine gives no positions."""
    boxes = [rotate_box(word.box, turn) for word in line.words if word.box]
    return int(median(box.bottom - box.top for box in boxes)) if boxes else 0


def _bounds(line: Line, number: int, size: tuple[int, int], turn: int) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of a line; lines without positions are stacked."""
    width, height = size
    box = _box_of(line)
    if box is None:
        return 0, number * _LINE_HEIGHT, width, number * _LINE_HEIGHT + _DEFAULT_SIZE
    left, top, right, bottom = rotate_box(box, turn)
    return (
        left * width // PAGE_UNITS,
        top * height // PAGE_UNITS,
        right * width // PAGE_UNITS,
        bottom * height // PAGE_UNITS,
    )


def _box_of(line: Line) -> Box | None:
    boxes = [word.box for word in line.words if word.box]
    if not boxes:
        return None
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


def _is_centred_in(row: Row, other: Row) -> bool:
    """Whether the middle of a row lies in another one."""
    x, y = (row.left + row.right) // 2, (row.top + row.bottom) // 2
    return other.left <= x <= other.right and other.top <= y <= other.bottom
