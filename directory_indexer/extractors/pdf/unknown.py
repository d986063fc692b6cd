"""Characters of a PDF without Unicode values, decoded from their codes in the font if that yields writing.

Fonts lose their character map but keep an order: the codes are those of ASCII, those of private use with the same last
byte, or glyph numbers, which in most fonts follow ASCII from some number on.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from directory_indexer.extractors.pdf.opening import DAMAGE

Lines = Sequence[dict[str, Any]]


def has_unknown(text: str) -> bool:
    """Whether a text has characters without Unicode, or of private use."""
    return not text.isascii() and _UNKNOWN.search(text) is not None


def read_unknown(lines: Lines, coded: Lines) -> None:
    """Replace the unknown characters of lines by decoded ones; `coded` are the same lines with codes."""
    codes: defaultdict[str, Counter[int]] = defaultdict(Counter)
    places = [(line, _codes(line["text"], other["text"])) for line, other in zip(lines, coded, strict=False)]
    for line, unknown in places:
        codes[line["font"]["name"]].update(code for _, code in unknown)
    shifts = {font: _shift_of(of_font) for font, of_font in codes.items() if of_font}
    for line, unknown in places:
        shift = shifts.get(line["font"]["name"])
        if unknown and shift is not None:
            characters = list(line["text"])
            for index, code in unknown:
                characters[index] = _shifted(code, shift)
            line["text"] = "".join(characters)


def read_shifted(lines: Lines) -> None:
    """Replace text without spaces whose letters are all shifted, because its font has a wrong table."""
    by_font: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        if " " not in line["text"] and len(line["text"]) > _LONG_WORD:
            by_font[line["font"]["name"]].append(line)
    for of_font in by_font.values():
        sample = "".join(line["text"] for line in of_font)[:_SAMPLE]
        n_letters = sum(map(str.isalpha, sample))
        if len(sample) >= _ENOUGH and sample.isascii() and 2 * n_letters > len(sample):
            _shift_back(of_font, sample)


def _shift_back(lines: Lines, sample: str) -> None:
    codes = Counter(map(ord, sample))
    if _likeness(codes, 0):
        return
    n_spaces = _FEW_SPACES * len(sample)
    with_spaces = (shift for shift in _OFF if codes[_SPACE - shift] + codes[_GLYPH_OF_SPACE] > n_spaces)
    shift = max(with_spaces, key=lambda shift: _likeness(codes, shift), default=0)
    if _likeness(codes, shift) >= _MIN_LIKENESS:
        for line in lines:
            line["text"] = "".join(_shifted(ord(character), shift) for character in line["text"])


def name_codes(page: Any) -> bool:
    """Set the usual encoding on fonts of a page whose character names are meaningless; whether any was changed."""
    pdf, n_changed = page.parent, 0
    for xref in {font[0] for font in page.get_fonts() if font[0]}:
        try:
            encoding = _encoding(pdf, xref)
            if len(_MEANINGLESS.findall(encoding)) >= _MANY and pdf.xref_get_key(xref, "ToUnicode")[0] == "null":
                pdf.xref_set_key(xref, "Encoding", "/WinAnsiEncoding")
                n_changed += 1
        except DAMAGE:
            continue
    return n_changed > 0


def _encoding(pdf: Any, xref: int) -> str:
    kind, value = pdf.xref_get_key(xref, "Encoding")
    return str(pdf.xref_object(int(value.split()[0])) if kind == "xref" else value)


def _codes(text: str, coded: str) -> list[tuple[int, int]]:
    """Return the positions of the unknown characters of a line, and their codes."""
    if not has_unknown(text) or len(text) != len(coded):
        return []
    places = (match.start() for match in _UNKNOWN.finditer(text))
    return [(at, ord(coded[at]) if text[at] == "\ufffd" else ord(text[at]) & _LAST_BYTE) for at in places]


def _shift_of(codes: Counter[int]) -> int | None:
    """Return the shift that turns the codes of a font into writing; None if there is none."""
    candidates = _SHIFTS if codes.total() >= _ENOUGH else _USUAL_SHIFTS
    best = max(candidates, key=lambda shift: _likeness(codes, shift))
    return best if _likeness(codes, best) >= _MIN_LIKENESS else None


def _shifted(code: int, shift: int) -> str:
    if shift and code == _GLYPH_OF_SPACE:
        return " "
    return chr(code + shift) if _SPACE <= code + shift < _DELETE else "\ufffd"


def _likeness(codes: Mapping[int, int], shift: int) -> float:
    """Return how much the shifted codes resemble a language in Latin letters, 0 to 1."""
    n_letters = n_spaces = n_common = 0
    for code, n_times in codes.items():
        character = _shifted(code, shift).casefold()
        n_letters += n_times * ("a" <= character <= "z")
        n_spaces += n_times * (character == " ")
        n_common += n_times * (character in _COMMON_LETTERS)
    if n_letters < FEW_LETTERS or n_letters + n_spaces < _MOSTLY * sum(codes.values()):
        return 0.0
    return n_common / n_letters


_UNKNOWN: Final = re.compile("[\ufffd\ue000-\uf8ff]")
_MEANINGLESS: Final = re.compile(r"/[A-Za-z]{1,2}\d{1,4}\b(?<!/[A-Z]\d)")
_MANY: Final = 5
_LAST_BYTE: Final = 0xFF
_SPACE: Final = 0x20
_DELETE: Final = 0x7F
_GLYPH_OF_SPACE: Final = 3
"""In the Macintosh glyph order, which Windows fonts follow."""

_SHIFTS: Final = range(40)
_USUAL_SHIFTS: Final = (0, 29)
_OFF: Final = tuple(shift for shift in range(-31, 32) if shift)
_LONG_WORD: Final = 20
_SAMPLE: Final = 200
_FEW_SPACES: Final = 0.08
_ENOUGH: Final = 40
FEW_LETTERS: Final = 6
"""An encoding cannot be recognised from fewer letters, so their codes are not decoded."""

_MOSTLY: Final = 0.8
_COMMON_LETTERS: Final = frozenset("etaoinsr")
_MIN_LIKENESS: Final = 0.5
"""The eight letters make up 0.6 of European languages, and 0.3 of any shift of them."""
