"""Detection of text in a natural language, as opposed to other bytes that were decoded as characters.

Any bytes are characters in a code page. What distinguishes writing is which characters are next to each other: within a
word the letters are of one script, no capital follows a small letter, signs stand alone, and words end; they do not end
at an at sign, which is the space of EBCDIC.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final, NamedTuple


def is_plausible_text(text: str) -> bool:
    """Whether the non-ASCII characters, if there are many, stand where some language has them."""
    sample = _sample(text)
    return sum(map(str.isascii, sample)) > _MOSTLY_ASCII * len(sample) or implausibility(text) <= MAX_IMPLAUSIBILITY


def implausibility(text: str) -> float:
    """Return the share of non-ASCII characters, 0 to 1, that no writing has, or not in this position."""
    sample = _sample(text)
    return max(_share_of_misplaced(sample), _share_of_rare(sample), 0.0 if _has_breaks(sample) else 1.0)


def _share_of_misplaced(text: str) -> float:
    glyphs = [_glyph(" "), *map(_glyph, text), _glyph(" ")]
    n_foreign = n_strange = 0
    if sum(map(_is_drawn, glyphs)) > _MAX_DRAWN_PER_LETTER * sum(bool(glyph.script) for glyph in glyphs):
        return 1.0
    for before, glyph, after in zip(glyphs, glyphs[1:], glyphs[2:], strict=False):
        if glyph.is_foreign and not _is_drawn(glyph):
            n_foreign += 1
            n_strange += _is_implausible(before, glyph, after)
    for word in re.finditer(_NO_WORD, text):
        n_strange += sum(glyph.is_foreign and glyph.script in _SPACED for glyph in map(_glyph, word[0]))
    return min(n_strange / n_foreign, 1.0) if n_foreign else 0.0


class _Glyph(NamedTuple):
    character: str
    category: str
    script: str
    """Of a letter or a mark; what is none of them has none."""

    is_foreign: bool


@lru_cache(maxsize=4096)
def _glyph(character: str) -> _Glyph:
    code, category = ord(character), unicodedata.category(character)
    script = next((name for last, name in _SCRIPTS if code <= last), "other") if category[0] in "LM" else ""
    return _Glyph(character, category, script, not character.isascii())


def _is_implausible(before: _Glyph, glyph: _Glyph, after: _Glyph) -> bool:
    if glyph.category in _NO_WRITING or glyph.character == "\ufffd":
        return True
    if before.character == glyph.character == after.character and glyph.script != "unspaced" and glyph.category != "Pd":
        return True
    if not glyph.script:
        return _is_implausible_sign(before, glyph, after)
    return "@" in (before.character, after.character) or _clash(before, glyph) or _clash(glyph, after)


def _is_implausible_sign(before: _Glyph, glyph: _Glyph, after: _Glyph) -> bool:
    """Whether a sign stands within a word, or next to another sign."""
    if glyph.character in _WITHIN_WORDS or glyph.category in _LOOSE:
        return False
    if before.script in _SPACED and after.script in _SPACED:
        return True
    return any(
        glyph_beside.is_foreign and glyph_beside.category[0] == "S" and not _is_drawn(glyph_beside)
        for glyph_beside in (before, after)
    )


def _clash(glyph: _Glyph, other: _Glyph) -> bool:
    """Whether two letters are next to each other in no word."""
    if not glyph.script or not other.script or "unspaced" in (glyph.script, other.script):
        return False
    return glyph.script != other.script or (glyph.category == "Ll" and other.category == "Lu")


def _is_drawn(glyph: _Glyph) -> bool:
    """Whether a glyph is a box-drawing character of DOS pages."""
    return _FIRST_DRAWN <= glyph.character <= _LAST_DRAWN


def _has_breaks(text: str) -> bool:
    """Whether words end, by spaces in the scripts that have them, and sentences do."""
    if len(text) < _LONG:
        return True
    n_breaks = sum(map(str.isspace, text))
    if any(_glyph(character).script == "unspaced" for character in text[:_LONG]):
        n_breaks += sum(_glyph(character).category[0] == "P" for character in text)
    return n_breaks >= _MIN_BREAKS * len(text)


def _share_of_rare(text: str) -> float:
    """Return the share of ideographs and syllables that are on no list of common ones."""
    signs = [character for character in text if _FIRST_IDEOGRAPH <= character <= _LAST_SYLLABLE]
    rare = {character for character in {*signs} if not any(_is_common(character, *common) for common in _COMMON)}
    return sum(character in rare for character in signs) / len(signs) if signs else 0.0


def _is_common(character: str, codec: str, first: int, last: int) -> bool:
    written = character.encode(codec, "ignore")
    return bool(written) and first <= written[0] <= last


def _sample(text: str) -> str:
    """Return the surroundings of the first non-ASCII character, and as much from behind the middle."""
    first = re.search(r"[^\x00-\x7f]", text)
    start = max(first.start() - 1, 0) if first else 0
    middle = max(len(text) // 2, start + _SAMPLE)
    return text[start : start + _SAMPLE] + text[middle : middle + _SAMPLE]


_SAMPLE: Final = 4_000
_MOSTLY_ASCII: Final = 0.9
MAX_IMPLAUSIBILITY: Final = 0.3
"""Texts in ten scripts have 0.1 at most; random and smooth bytes, and machine code without its controls, 0.35."""

_MAX_DRAWN_PER_LETTER: Final = 4
_LONG: Final = 400
_MIN_BREAKS: Final = 0.01
_NO_WORD: Final = r"[^\W\d_]{41,}|[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]{5,}"
"""Longer than any, or of letters with accents alone, of which the Polish for "bile" has four."""

_NO_WRITING: Final = frozenset({"Cc", "Cn", "Co", "Cs"})
_LOOSE: Final = frozenset({"Zs", "Cf", "Pd", "Nd", "Nl"})
_WITHIN_WORDS: Final = frozenset("\u2019\u02bc\u00b7\u00b4\u00ba\u00aa")
_FIRST_DRAWN, _LAST_DRAWN = "\u2500", "\u25ff"
_FIRST_IDEOGRAPH, _LAST_SYLLABLE = "\u3400", "\ud7a3"

_SPACED: Final = frozenset({"latin", "greek", "cyrillic", "hebrew", "arabic", "other"})
_SCRIPTS: Final = (
    (0x36F, "latin"),
    (0x3FF, "greek"),
    (0x52F, "cyrillic"),
    (0x58F, "other"),
    (0x5FF, "hebrew"),
    (0x6FF, "arabic"),
    (0xDFF, "other"),
    (0xEFF, "unspaced"),
    (0x1DFF, "other"),
    (0x1EFF, "latin"),
    (0x1FFF, "greek"),
    (0x2E7F, "other"),
    (0xFAFF, "unspaced"),
    (0xFB06, "latin"),
    (0xFEFF, "arabic"),
    (0x3FFFF, "unspaced"),
)
"""The last character of each stretch of scripts; `unspaced` are those that are written without spaces, or with any."""

_COMMON: Final = (("gb2312", 0xB0, 0xD7), ("big5", 0xA4, 0xC6), ("shift_jis", 0x88, 0x98), ("euc_kr", 0xB0, 0xC8))
"""National lists of characters, and the leading bytes of their first level."""
