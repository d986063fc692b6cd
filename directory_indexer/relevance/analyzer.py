"""How text becomes words: what the full-text index stores of a chunk, and how the same words are found again.

SQLite's own `unicode61` tokenizer does the work for plain text; here is only what it cannot know: the parts of
camelCase names, languages without spaces, and spellings that people take for the same.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from directory_indexer.relevance.grams import UNSPACED, UNSPACED_MARKS, all_grams, full_grams
from directory_indexer.relevance.readings import readings

ANALYZER_VERSION: Final = 2
"""Changes whenever `index_fields` gives other words for the same text: the index must then be filled again."""

FTS_COLUMNS: Final = ("text", "parts", "heading", "title", "path")
FTS_TOKENIZE: Final = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
FTS_WEIGHTS: Final = (1.0, 0.7, 2.0, 2.0, 1.0)
"""What a word weighs in bm25(), one number for each of `FTS_COLUMNS`."""


def index_fields(*, text: str, heading: str, title: str, path: str) -> tuple[str, ...]:
    """Give the values of `FTS_COLUMNS` for one chunk; the same input gives the same values in every process.

    `path` is the path below the tracked directory, with the name of the file.
    """
    everything = f"{text}\n{heading}\n{title}\n{path}"
    parts = " ".join(sorted({*_hump_parts(everything), *_transliterations(everything)}))
    if beside := readings(text):
        parts = f"{parts} {fold(beside)}"
    return fold(text), parts, fold(heading), fold(title), fold(path)


def fold(text: str) -> str:
    """Give the text in the spelling that is indexed, all but lower case and Latin accents, which SQLite folds."""
    if text.isascii():
        return text
    return re.sub(UNSPACED, lambda run: f" {all_grams(run[0])} ", _respelled(text))


def words(text: str) -> list[str]:
    """Cut text into words exactly as the index does."""
    if text.isascii():
        return text.encode().translate(_ASCII_WORDS).decode().split()
    return re.findall(_WORD, _lowered(fold(text)))


def query_words(text: str) -> list[str]:
    """Cut text into words that are to be found: without the short rests at the end of runs of letters."""
    if text.isascii():
        return words(text)
    return re.findall(_WORD, _lowered(re.sub(UNSPACED, lambda run: f" {full_grams(run[0])} ", _respelled(text))))


def unspaced_apart(text: str) -> tuple[str, str]:
    """Give the runs of letters without spaces, a line each, and the rest of a text; quicker than to cut the runs."""
    if text.isascii() or not re.search(UNSPACED, text):
        return "", text
    respelled = _respelled(text)
    return "\n".join(re.findall(UNSPACED, respelled)), re.sub(UNSPACED, " ", respelled)


def part_words(text: str) -> set[str]:
    """Give the parts of the camelCase names in a text."""
    return _hump_parts(text)


@lru_cache(maxsize=1 << 14)
def name_parts(name: str) -> tuple[str, ...]:
    """Split a camelCase name into its parts in lower case; nothing when it is one part."""
    found = _HUMPS.findall(name)
    return tuple(part.lower() for part in found) if len(found) > 1 else ()


def transliterated(word: str) -> str:
    """Write the umlauts of a word as two letters, as in Mueller."""
    return word.translate(_UMLAUTS)


def _hump_parts(text: str) -> set[str]:
    parts: set[str] = set()
    letters = text.encode("ascii", "replace")
    # Where small and capital letters meet, found ten times faster than by a regular expression.
    shape = letters.translate(_SHAPES)
    if b"aA" not in shape and b"AAa" not in shape and b"0A" not in shape:
        return parts
    for name in set(letters.translate(_ASCII_NAMES).decode().split()):
        if not (name.islower() or name.isdigit() or name.isupper() or name[1:].islower()):
            parts.update(name_parts(name))
    return parts


def _transliterations(text: str) -> list[str]:
    if text.isascii() or not re.search(_UMLAUT, text):
        return []
    composed = unicodedata.normalize("NFKC", text)
    return [transliterated(word.casefold()) for word in re.findall(_UMLAUT_WORD, composed)]


def _respelled(text: str) -> str:
    composed = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(_RESPELLED, lambda letter: _SPELLINGS[letter[0]], composed)


def _lowered(folded: str) -> str:
    if folded.isascii():
        return folded.lower()
    return unicodedata.normalize("NFC", re.sub(_ACCENT, "", unicodedata.normalize("NFD", folded.lower())))


_ASCII_WORDS: Final = bytes(byte if chr(byte).isalnum() else ord(" ") for byte in bytes(range(128)).lower()) + bytes(
    128
)
_ASCII_NAMES: Final = bytes(byte if chr(byte).isalnum() else ord(" ") for byte in range(128)) + bytes(128)
_SHAPES: Final = bytes(
    ord("a") if chr(byte).islower() else ord("A") if chr(byte).isupper() else ord("0") if chr(byte).isdigit() else 32
    for byte in range(128)
) + bytes(128)
_HUMPS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Plain ASCII does without the patterns that are text here; `re` compiles them when they are first used.
_UMLAUT: Final = "[äöüÄÖÜåÅøØæÆ\u0308\u030a]"
_UMLAUT_WORD: Final = r"\w*[äöüÄÖÜåÅøØæÆ]\w*"
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})
_WORD: Final = rf"(?:[^\W_]|[{UNSPACED_MARKS}])+(?:[\u0300-\u036f\u0900-\u0dff]+[^\W_]*)*"
_ACCENT: Final = "(?<=[A-Za-z\u0370-\u03ff])[\u0300-\u036f]+"
_SPELLINGS: Final[dict[str, str]] = {
    "ı": "i", "ł": "l", "đ": "d", "ø": "o", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ħ": "h", "ё": "е",
    "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ـ": "",
    "\u0901": "\u0902", "\u093c": "",
    **dict.fromkeys(map(chr, (0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)), ""),
    **dict.fromkeys(map(chr, (*range(0x64B, 0x660), 0x670, *range(0x591, 0x5BE))), ""),
    **{letter: base for letter in map(chr, (*range(0x386, 0x3CF), *range(0x1F00, 0x1FFF)))
       if (base := unicodedata.normalize("NFD", letter.casefold())[:1]) != letter.casefold()},
}  # fmt: skip
_RESPELLED: Final = f"[{''.join(map(re.escape, _SPELLINGS))}]"
