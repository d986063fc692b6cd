"""Text that must be read glyph by glyph, and characters without Unicode values.

Raised or lowered marks show in the sizes and baselines of glyphs; letter-spaced words, the end of a word behind a
ligature, and the order of numbers in a right-to-left line, show in their positions. Reading all glyphs would double the
time of a page, so only lines whose text hints at it are read again.

Characters without Unicode values are decoded from their codes in the font if that yields writing: fonts lose their
character map but keep an order. The codes are those of ASCII, those of private use with the same last byte, or glyph
numbers, which in most fonts follow ASCII from some number on.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import groupby, pairwise, product
from operator import itemgetter
from statistics import median
from string import ascii_letters, ascii_lowercase
from typing import Any, Final, NamedTuple

from directory_indexer.formats.pdf.mupdf import MUPDF_ERRORS, mupdf, pymupdf
from directory_indexer.formats.raised_marks import NAME_OF_TWO_LETTERS, is_mark, is_mark_after, is_mark_before

Blocks = Sequence[dict[str, Any]]

_SYNTHETIC_FLAG: Final = 4
_MAX_SMALL_RATIO: Final = 0.8
_MIN_RISE: Final = 0.25
_SUBSCRIPT: Final = re.compile(r"\w{1,3}")
_MIN_SHARE_SPACED: Final = 0.6
_WORD_GAP_RATIO: Final = 1.6
_MIN_LETTER_GAP: Final = 0.45

_LETTER_SPACED: Final = re.compile(r" [^\W\d](?: \w){3}\b")
_MAY_BE_MARK: Final = re.compile(
    # What all begin with comes first: the search skips other characters several times as fast.
    rf"[\dTS](?:(?:(?<=[^\W\d_]{{3}}\d)|(?<=[^\W\d_]{{3}}[.,;)]\d)|(?<={NAME_OF_TWO_LETTERS}\d)"
    r"|(?<=[CHMNO] \d)|(?<=(?:Al|Ca|Fe|Na|Si|Ti) \d))"
    r"\d{0,2}[a-z]?(?:[,\u2013-]\s?(?:\d{1,3}[a-z]?|[a-z]))*(?!\w)"
    r"|(?<=[TS])M(?<=[^\W\d_]{3}\wM)(?!\w)"
    r"|(?<=\d)(?<![\w.,]\d)\d{0,2}(?=[^\W\d_]{3}))"
)
"""A number raised behind or before a word, or lowered behind a chemical symbol, or a trade mark."""

_BEGINNING_OF_NOTE: Final = re.compile(r"\n([a-z]) ?(?=[^\W\d_a-z])")

_MAY_END_WORD: Final = re.compile(r"\ufb00(?=\w)(?!e[cr]|ort|set|s\b)")
"""The ligature ff within what is no common word (different, effect, buffer, effort, offset): MuPDF inserts no space
behind it."""

_MIN_WORD_GAP: Final = 0.15
"""The gap at which MuPDF inserts a space, as a share of the size."""

_ASCII_WORD: Final = re.compile(r"[0-9A-Za-z]")
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_ARABIC: Final = re.compile("[\u0600-\u08ff\ufb50-\ufdff\ufe70-\ufefc]")
_LEFT_TO_RIGHT: Final = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z .,:/%+@-]*[0-9A-Za-z%])?")


Lines = Sequence[dict[str, Any]]

_UNKNOWN_CHARACTER: Final = re.compile("[\ufffd\ue000-\uf8ff]")
_MEANINGLESS_NAME: Final = re.compile(r"/[A-Za-z]{1,2}\d{1,4}\b(?<!/[A-Z]\d)")
_MANY_NAMES: Final = 5
_LAST_BYTE: Final = 0xFF
_SPACE: Final = 0x20
_DEL: Final = 0x7F
_GLYPH_OF_SPACE: Final = 3
"""In the Macintosh glyph order, which Windows fonts follow."""

_MAP_SECTION: Final = re.compile(rb"beginbf(char|range)(.*?)endbf", re.DOTALL)
_MAP_NUMBER: Final = re.compile(rb"<([0-9A-Fa-f]{1,4})>")
_LETTERS_OF_GLYPH: Final = re.compile(rb"<((?:\s*(?:0[678]|F[BCDE])[0-9A-F]{2}){2,4})\s*>", re.IGNORECASE)
_PRESENTATION_FORMS: Final = (range(0xFC00, 0xFD3E), range(0xFD50, 0xFDC8), range(0xFEF5, 0xFEFD))
_MAX_MAP_BYTES: Final = 1_000_000
_MAX_FORMS: Final = 20

_SHIFTS: Final = range(40)
_USUAL_SHIFTS: Final = (0, 29)
_SHIFTS_BACK: Final = tuple(shift for shift in range(-31, 32) if shift)
_LONG_WORD: Final = 20
_MAX_SAMPLE: Final = 200
_FEW_SPACES: Final = 0.08
_MIN_SAMPLE: Final = 40
FEW_LETTERS: Final = 6
"""An encoding cannot be recognised from fewer letters, so their codes are not decoded."""

_MIN_SHARE_OF_LETTERS: Final = 0.8
_LETTER_CODES: Final = frozenset(map(ord, ascii_letters))
_COMMON_CODES: Final = frozenset(map(ord, "etaoinsrETAOINSR"))
_MIN_LIKELIHOOD: Final = 0.5
"""The eight letters make up 0.6 of European languages, and 0.3 of any shift of them."""


def reread_lines(blocks: Blocks, page: Any, text: str) -> None:
    """Replace the text of lines that must be read glyph by glyph.

    `page` is their MuPDF text page, and `text` all of its text. A line has a glyph for each character, unless it was
    repaired, and is then left as it is.
    """
    marks = _mark_pattern(text)
    has_marks, needs_positions = marks.search(text) is not None, _needs_positions(text)
    if not has_marks and not needs_positions:
        return
    candidates = {
        (number, index): line
        for number, block in enumerate(blocks)
        for index, line in enumerate(block.get("lines", ()))
        if (has_marks and marks.search(line["text"])) or (needs_positions and _needs_positions(line["text"]))
    }
    for place, printed in _lines_of(page, candidates):
        text = candidates[place]["text"]
        if _needs_positions(text) or _differ_at(printed, [match.span() for match in marks.finditer(text)]):
            glyphs = list(_chain(printed.first_char))
            if len(glyphs) == len(text):
                candidates[place]["text"] = _reread(text, glyphs, printed.dir)


def has_unknown_characters(text: str) -> bool:
    """Whether a text has characters without Unicode, or of private use."""
    return not text.isascii() and _UNKNOWN_CHARACTER.search(text) is not None


def decode_unknown(lines: Lines, coded: Lines) -> None:
    """Replace the unknown characters of lines by decoded ones; `coded` are the same lines with codes."""
    codes: defaultdict[str, Counter[int]] = defaultdict(Counter)
    places = [(line, _codes_of_unknown(line["text"], other["text"])) for line, other in zip(lines, coded, strict=False)]
    for line, unknown in places:
        codes[line["font"]["name"]].update(code for _, code in unknown)
    shifts = {font: _shift_of(font_codes) for font, font_codes in codes.items() if font_codes}
    for line, unknown in places:
        shift = shifts.get(line["font"]["name"])
        if unknown and shift is not None:
            characters = list(line["text"])
            for index, code in unknown:
                characters[index] = _shifted(code, shift)
            line["text"] = "".join(characters)


def decode_shifted(lines: Lines) -> None:
    """Replace text without spaces whose letters are all shifted, because its font has a wrong table."""
    by_font: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        if " " not in line["text"] and len(line["text"]) > _LONG_WORD:
            by_font[line["font"]["name"]].append(line)
    for font_lines in by_font.values():
        sample = "".join(line["text"] for line in font_lines)[:_MAX_SAMPLE]
        n_letters = sum(map(str.isalpha, sample))
        if len(sample) >= _MIN_SAMPLE and sample.isascii() and 2 * n_letters > len(sample):
            _undo_shift(font_lines, sample)


def repair_fonts(page: Any, text: str) -> bool:
    """Repair the fonts of a page whose text has characters without Unicode, or Arabic ones; whether any changed."""
    if text.isascii():
        return False
    n_unknown = text.count("\ufffd")
    repairs: list[Callable[[Any, int], bool]] = []
    if n_unknown >= FEW_LETTERS:
        repairs.append(_reset_meaningless_encoding)
    if _ARABIC.search(text):
        repairs.append(partial(_repair_arabic_map, has_unknown=n_unknown > 0))
    is_changed = False
    for repair, xref in product(repairs, {font[0] for font in page.get_fonts() if font[0]} if repairs else ()):
        with suppress(*MUPDF_ERRORS):
            is_changed |= repair(page.parent, xref)
    if is_changed:
        pymupdf.TOOLS.store_shrink(100)  # MuPDF keeps the fonts that it has read
    return is_changed


def _reset_meaningless_encoding(pdf: Any, xref: int) -> bool:
    """Set the usual encoding on a font whose character names are meaningless; whether it was changed."""
    is_meaningless = len(_MEANINGLESS_NAME.findall(_encoding(pdf, xref))) >= _MANY_NAMES
    if not is_meaningless or pdf.xref_get_key(xref, "ToUnicode")[0] != "null":
        return False
    pdf.xref_set_key(xref, "Encoding", "/WinAnsiEncoding")
    return True


def _repair_arabic_map(pdf: Any, xref: int, *, has_unknown: bool) -> bool:
    """Repair the character map of a font; whether it was changed.

    A ligature, such as lam with alef, may be mapped to its letters, which MuPDF puts in the order of the page: it is
    mapped to one character. A font has several forms of a letter, one after the other, and its map may lack those that
    depend on the next letter: they are added, if the page has unknown characters.
    """
    kind, value = pdf.xref_get_key(xref, "ToUnicode")
    if kind != "xref":
        return False
    map_xref = int(value.split()[0])
    content = bytes(pdf.xref_stream(map_xref) or b"")[:_MAX_MAP_BYTES]
    repaired = _LETTERS_OF_GLYPH.sub(_with_ligature, content)
    if forms := _missing_forms(repaired) if has_unknown else {}:
        lines = "".join(f"<{glyph:04x}> <{ord(form):04x}>\n" for glyph, form in forms.items())
        added = f"{len(forms)} beginbfchar\n{lines}endbfchar\nendcmap".encode()
        repaired = repaired.replace(b"endcmap", added, 1)
    if repaired == content:
        return False
    pdf.update_stream(map_xref, repaired)
    return True


def _needs_positions(text: str) -> bool:
    if _LETTER_SPACED.search(text):
        return True
    return not text.isascii() and (_MAY_END_WORD.search(text) is not None or _is_bidirectional(text))


def _is_bidirectional(text: str) -> bool:
    return _RIGHT_TO_LEFT.search(text) is not None and _ASCII_WORD.search(text) is not None


def _mark_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern of what may be a mark on a page; letters only if notes begin with them, from `a` on."""
    letters = set(_BEGINNING_OF_NOTE.findall(f"\n{text}"))
    n_notes = next(number for number, letter in enumerate((*ascii_lowercase, "")) if letter not in letters)
    return _mark_pattern_with_letters(ascii_lowercase[n_notes - 1]) if n_notes else _MAY_BE_MARK


@cache
def _mark_pattern_with_letters(last: str) -> re.Pattern[str]:
    behind_word = rf"(?<=[^\W\d_A-Z]{{3}})[a-{last}](?:,\s?[a-{last}])*(?!\w)"
    return re.compile(rf"{_MAY_BE_MARK.pattern}|{behind_word}|^[a-{last}](?=[^\W\d_a-z])")


def _lines_of(page: Any, places: Collection[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], Any]]:
    """Yield the MuPDF lines at the given places, the numbers of their block and line."""
    numbers = {number for number, _ in places}
    for number, block in enumerate(_chain(page.m_internal.first_block)):
        if number in numbers and block.type == mupdf.FZ_STEXT_BLOCK_TEXT:
            first = next(iter(mupdf.FzStextBlock(block)))
            for index, line in enumerate(_chain(first.m_internal)):
                if (number, index) in places:
                    yield (number, index), line


def _chain(part: Any) -> Iterator[Any]:
    """Yield a part of a text page and those after it; to follow their links spares the wrappers of PyMuPDF."""
    while part:
        yield part
        part = part.next


class _Span(NamedTuple):
    """Characters of one size on one baseline."""

    text: str
    size: float
    baseline: float


def _differ_at(line: Any, stretches: Iterable[tuple[int, int]]) -> bool:
    """Whether characters in or beside stretches of a line have another size or baseline than its first one."""
    places = {place for start, end in stretches for place in range(start - 1, end + 1)}
    character, n_left = line.first_char, max(places, default=-1) + 1
    size, y = character.size, character.origin.y
    for place in range(n_left):
        if not character:
            return False
        if place in places and (character.size != size or character.origin.y != y):
            return True
        character = character.next
    return False


def _reread(text: str, glyphs: Sequence[Any], direction: Any) -> str:
    """Return the text of a line by the places of its glyphs, one for each character."""
    if _RIGHT_TO_LEFT.search(text):
        return _in_logical_order(text, glyphs)
    characters = list(text)
    for at in _ends_of_words(text, glyphs):
        characters[at] += " "
    if _LETTER_SPACED.search(text):
        for at in _spaces_between_letters(text, glyphs):
            characters[at] = ""
    return _with_marks_apart(list(_spans_of(characters, glyphs, direction)))


def _spans_of(characters: Sequence[str], glyphs: Iterable[Any], direction: Any) -> Iterator[_Span]:
    horizontal, vertical = direction.x, direction.y

    def style(glyph: Any) -> tuple[float, float]:
        origin = glyph.origin
        return round(glyph.size, 1), round(horizontal * origin.y - (vertical * origin.x if vertical else 0), 1)

    for (size, baseline), span in groupby(zip(characters, map(style, glyphs), strict=True), itemgetter(1)):
        yield _Span("".join(character for character, _ in span), size, baseline)


def _ends_of_words(text: str, glyphs: Sequence[Any]) -> Iterator[int]:
    """Yield the places of ligatures that a gap follows."""
    for ligature in _MAY_END_WORD.finditer(text):
        glyph, following = glyphs[ligature.start() : ligature.start() + 2]
        if _gap(glyph, following) > _MIN_WORD_GAP * glyph.size:
            yield ligature.start()


def _gap(glyph: Any, following: Any) -> float:
    return float(following.quad.ll.x - glyph.quad.lr.x)


def _with_marks_apart(spans: Sequence[_Span]) -> str:
    """Join subscripts, as in formulas, to what they belong to, and move note numbers to the end.

    There they split no phrase.
    """
    main = max(spans, key=lambda span: (span.size, len(span.text)))
    text = marks = raised = ""
    for span in spans:
        is_small, before, stripped = span.size < _MAX_SMALL_RATIO * main.size, text.rstrip(), span.text.strip()
        is_raised = span.baseline <= main.baseline - _MIN_RISE * main.size
        if is_small and not is_raised and before[-1:].isalpha() and _SUBSCRIPT.fullmatch(stripped):
            text = before + span.text.lstrip()
        elif (is_small or is_raised) and is_mark_after(before, stripped):
            marks += f" {stripped}"
        else:
            last = text[-1:]
            text += f" {span.text}" if is_mark_before(raised, span.text) else span.text
            raised = last + stripped if is_small or is_raised else ""
    if marks and not text[-1:].isalnum() and not text.endswith((",", " ")):
        return "".join(f" {span.text}" if is_mark(span.text.strip()) else span.text for span in spans)
    return text.rstrip() + marks if marks else text


def _in_logical_order(text: str, glyphs: Sequence[Any]) -> str:
    """Return the text of a line in reading order: right to left, with numbers left to right."""
    n_other = sum(character.isascii() and character.isalpha() for character in text)
    if n_other > len(_RIGHT_TO_LEFT.findall(text)):
        return text
    places = [-round(glyph.quad.ll.x) for glyph in glyphs]
    ordered = "".join(text[at] for at in sorted(range(len(text)), key=places.__getitem__))
    return _LEFT_TO_RIGHT.sub(lambda stretch: stretch[0][::-1], ordered)


def _spaces_between_letters(text: str, glyphs: Sequence[Any]) -> Iterator[int]:
    """Yield the places of the spaces within letter-spaced words."""
    letters = [at for at, character in enumerate(text) if not character.isspace()]
    gaps = {second: _gap(glyphs[first], glyphs[second]) for first, second in pairwise(letters)}
    spaced = [second for first, second in pairwise(letters) if second > first + 1]
    usual, size = median(gaps[second] for second in spaced), glyphs[0].size
    n_synthetic = sum(bool(glyph.flags & _SYNTHETIC_FLAG) for glyph in glyphs)
    is_set_apart = len(spaced) >= _MIN_SHARE_SPACED * (len(letters) - 1) and usual < size
    if is_set_apart and (n_synthetic >= len(spaced) / 2 or usual >= _MIN_LETTER_GAP * size):
        for first, second in pairwise(letters):
            if gaps[second] < _WORD_GAP_RATIO * usual:
                yield from range(first + 1, second)


def _undo_shift(lines: Lines, sample: str) -> None:
    codes = Counter(map(ord, sample))
    if _likelihood(codes, 0):
        return
    n_spaces = _FEW_SPACES * len(sample)
    with_spaces = (shift for shift in _SHIFTS_BACK if codes[_SPACE - shift] + codes[_GLYPH_OF_SPACE] > n_spaces)
    shift = max(with_spaces, key=lambda shift: _likelihood(codes, shift), default=0)
    if _likelihood(codes, shift) >= _MIN_LIKELIHOOD:
        for line in lines:
            line["text"] = "".join(_shifted(ord(character), shift) for character in line["text"])


def _encoding(pdf: Any, xref: int) -> str:
    kind, value = pdf.xref_get_key(xref, "Encoding")
    return str(pdf.xref_object(int(value.split()[0])) if kind == "xref" else value)


def _with_ligature(letters: re.Match[bytes]) -> bytes:
    """Return the character of a ligature in place of its letters, if there is one."""
    text = bytes.fromhex(letters[1].decode()).decode("utf-16-be")
    ligature = _ligatures().get(unicodedata.normalize("NFKC", text))
    return f"<{ord(ligature):04x}>".encode() if ligature else letters[0]


@cache
def _ligatures() -> dict[str, str]:
    """Return the characters of Arabic ligatures by their letters."""
    forms = (chr(code) for codes in _PRESENTATION_FORMS for code in codes)
    return {letters: form for form in forms if len(letters := unicodedata.normalize("NFKC", form)) > 1}


def _missing_forms(content: bytes) -> dict[int, str]:
    """Return the glyphs that a map lacks among those of Arabic letters, with the letter before each."""
    characters: dict[int, str] = {}
    for section, lines in _MAP_SECTION.findall(content):
        numbers = [int(number, 16) for number in _MAP_NUMBER.findall(lines)]
        # A range has a first and a last glyph, and the character of the first one.
        for first, *last, code in zip(*[iter(numbers)] * (3 if section == b"range" else 2), strict=False):
            glyphs = range(first, min(*last, first + _LAST_BYTE) + 1) if last else (first,)
            characters.update((glyph, chr(code + glyph - first)) for glyph in glyphs)
    return {
        glyph: form
        for (first, form), (end, other) in pairwise(sorted(characters.items()))
        if end - first <= _MAX_FORMS and _ARABIC.match(form) and _ARABIC.match(other)
        for glyph in range(first + 1, end)
    }


def _codes_of_unknown(text: str, coded: str) -> list[tuple[int, int]]:
    """Return the positions of the unknown characters of a line, and their codes."""
    if not has_unknown_characters(text) or len(text) != len(coded):
        return []
    places = (match.start() for match in _UNKNOWN_CHARACTER.finditer(text))
    return [(at, ord(coded[at]) if text[at] == "\ufffd" else ord(text[at]) & _LAST_BYTE) for at in places]


def _shift_of(codes: Counter[int]) -> int | None:
    """Return the shift that turns the codes of a font into writing; None if there is none."""
    candidates = _SHIFTS if codes.total() >= _MIN_SAMPLE else _USUAL_SHIFTS
    best = max(candidates, key=lambda shift: _likelihood(codes, shift))
    return best if _likelihood(codes, best) >= _MIN_LIKELIHOOD else None


def _shifted(code: int, shift: int) -> str:
    if shift and code == _GLYPH_OF_SPACE:
        return " "
    return chr(code + shift) if _SPACE <= code + shift < _DEL else "\ufffd"


def _likelihood(codes: Mapping[int, int], shift: int) -> float:
    """Return how much the shifted codes resemble a language in Latin letters, 0 to 1."""
    n_letters = n_common = 0
    for code, n_times in codes.items():
        if code + shift in _LETTER_CODES:
            n_letters += n_times
            if code + shift in _COMMON_CODES:
                n_common += n_times
    n_spaces = sum(codes.get(code, 0) for code in {_SPACE - shift, _GLYPH_OF_SPACE if shift else _SPACE})
    if n_letters < FEW_LETTERS or n_letters + n_spaces < _MIN_SHARE_OF_LETTERS * sum(codes.values()):
        return 0.0
    return n_common / n_letters
