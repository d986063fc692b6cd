"""How text becomes words: what the full-text index stores of a chunk, and how the same words are found again.

SQLite's own `unicode61` tokenizer does the work for plain text; here is only what it cannot know: the parts of
camelCase names, languages without spaces, and spellings that people take for the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final, NamedTuple

from directory_indexer.lazy import lazily
from directory_indexer.relevance.grams import UNSPACED, UNSPACED_MARKS, all_grams, full_grams
from directory_indexer.relevance.readings import readings

with lazily:
    from directory_indexer.relevance.han import simplified

ANALYZER_VERSION: Final = 3
"""Changes whenever `index_fields` gives other words for the same text: the index must then be filled again."""

FTS_COLUMNS: Final = ("text", "parts", "heading", "title", "path")
FTS_TOKENIZE: Final = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
FTS_WEIGHTS: Final = (1.0, 0.7, 2.0, 2.0, 1.0)
"""What a word weighs in bm25(), one number for each of `FTS_COLUMNS`."""


class HeldWords(NamedTuple):
    """Words of an index with a part in them, and how many chunks have each.

    If `last_row` is given, nothing is known of the words of later chunks.
    """

    words: list[tuple[str, int]]
    last_row: int | None = None


def index_fields(*, text: str, heading: str, title: str, path: str) -> tuple[str, ...]:
    """Give the values of `FTS_COLUMNS` for one chunk; the same input gives the same values in every process.

    `path` is the path below the tracked directory, with the name of the file.
    """
    everything = f"{text}\n{heading}\n{title}\n{path}"
    parts = " ".join(sorted(extra_words(everything)))
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


def extra_words(text: str) -> set[str]:
    """Return the words that stand for a text beside those that it is cut into.

    They are the parts of camelCase names, words with umlauts as two letters, what hyphens, points and blanks part
    (`re-elected`, `U.S.A.`, an IBAN) in one, dates as 20260131, names of signs such as C++, and words with the sign
    that they begin with, as in `--json` and `#34`.
    """
    return {*_hump_parts(text), *_spelled(text), *_joined(text), *_dates(text), *_named_signs(text), *_signed(text)}


class ExtraWords:
    """The words of a query, ready to be compared with the `extra_words` of many texts.

    Extra words that no word of the query can match are not computed: most texts have none of its letters in a row, and
    nothing to join.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(words)
        self._encoded = [word.encode() for word in self._words if word.isascii()]
        kinds = (
            (_joined, any(not word.isalpha() for word in self._words)),
            (_dates, any(len(word) == _DATE_DIGITS and word.isdigit() for word in self._words)),
            (_named_signs, not frozenset(_SIGN_NAMES.values()).isdisjoint(self._words)),
            (_signed, any(word[:1] in _PREFIXES.values() for word in self._words)),
        )
        self._kinds = [kind for kind, is_possible in kinds if is_possible]

    def of(self, text: str) -> AbstractSet[str]:
        """Return extra words of a text, at least those that the query has, too."""
        if not text.isascii() or len(self._words) > _MANY_WORDS:
            return extra_words(text)
        extra = {word for kind in self._kinds for word in kind(text)}
        letters = text.encode().lower()
        if any(word in letters for word in self._encoded):
            extra |= _hump_parts(text)
        marks = letters.translate(_MARKS)
        if any(mark in marks for mark in _JOINING) and self._is_joined(letters):
            extra.update(_joined(text))
        return extra

    def _is_joined(self, letters: bytes) -> bool:
        """Whether a word occurs only once characters other than letters and digits are left out."""
        together = letters.translate(None, _ASCII_SIGNS)
        return any(together.count(word) > letters.count(word) for word in self._encoded if word in together)


def signed_word(word: str) -> str:
    """Return the word of the index for one that was typed with a sign before it, as in `--json`; nothing for others."""
    return next(_signed(word), "")


def other_spellings(word: str) -> tuple[str, ...]:
    """Return the words that stand for a typed word in the index, too: with two letters for an umlaut, or a date."""
    spelled = transliterated(word.casefold())
    return (*(query_words(spelled) if spelled != word.casefold() else ()), *_dates(word))


def sign_name(word: str) -> str:
    """Return the word that stands for a name with signs, such as `cpp` for C++; nothing for any other."""
    return _SIGN_NAMES.get(word.casefold(), "")


def phrase_words(text: str) -> tuple[str, ...]:
    """Return the words of a text in a row as they follow each other in the index, up to the last run of letters.

    The index has a short piece at the end of every run without spaces: between two runs it must be asked for, behind
    the last one it must not.
    """
    if text.isascii():
        return tuple(words(text))
    respelled = _respelled(text).strip()
    last = next((run for run in re.finditer(UNSPACED, respelled) if not re.search(r"\w", respelled[run.end() :])), None)
    if last is None:
        return tuple(words(text))
    return (*words(respelled[: last.start()]), *query_words(last[0]))


@lru_cache(maxsize=1 << 14)
def name_parts(name: str) -> tuple[str, ...]:
    """Split a camelCase name into its parts in lower case; nothing where no small letter meets a capital in it."""
    if name.islower() or name.isdigit() or name.isupper() or name[1:].islower():
        return ()
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
        parts.update(name_parts(name))
    return parts


def _joined(text: str) -> Iterator[str]:
    for found in _PARTED.finditer(text):
        joined = _NO_WORD_SIGN.sub("", found[0]).lower()
        if len(joined) <= _LONGEST_JOINED and (found["number"] is None or len(joined) >= _FEWEST_DIGITS):
            yield joined


def _dates(text: str) -> Iterator[str]:
    for found in _DATE.finditer(text):
        year, month, day = (
            (found["y1"], found["m1"], found["d1"]) if found["y1"] else (found["y2"], found["m2"], found["d2"])
        )
        if 1 <= int(month) <= _MONTHS and 1 <= int(day) <= _DAYS:
            yield f"{year}{int(month):02}{int(day):02}"


def _named_signs(text: str) -> Iterator[str]:
    return (_SIGN_NAMES[found[0].lower()] for found in _SIGNS.finditer(text))


def _signed(text: str) -> Iterator[str]:
    return (_PREFIXES[found[1]] + found[2].lower() for found in _SIGNED.finditer(text))


def _spelled(text: str) -> list[str]:
    if text.isascii() or not re.search(_UMLAUT, text):
        return []
    composed = unicodedata.normalize("NFKC", text)
    return [transliterated(word.casefold()) for word in re.findall(_UMLAUT_WORD, composed)]


def _respelled(text: str) -> str:
    composed = unicodedata.normalize("NFKC", text).casefold()
    respelled = re.sub(_RESPELLED, lambda letter: _SPELLINGS[letter[0]], composed)
    if re.search(_HAN, respelled):
        respelled = simplified(respelled)
    return re.sub(_PICTURE, lambda sign: f" emoji{ord(sign[0]):x} ", respelled)


def _lowered(folded: str) -> str:
    if folded.isascii():
        return folded.lower()
    return unicodedata.normalize("NFC", re.sub(_ACCENT, "", unicodedata.normalize("NFD", folded.lower())))


_ASCII_WORDS: Final = bytes(byte if chr(byte).isalnum() else ord(" ") for byte in bytes(range(128)).lower()) + bytes(
    128
)
_ASCII_NAMES: Final = bytes(byte if chr(byte).isalnum() else ord(" ") for byte in range(128)) + bytes(128)
_ASCII_SIGNS: Final = bytes(byte for byte in range(128) if not chr(byte).isalnum())
_MARKS: Final = bytes(
    byte if chr(byte) in "-.:\n" else ord("a" if chr(byte).isalnum() else " ") for byte in range(128)
) + bytes(128)
_JOINING: Final = (b"a-a", b"a-\n", b"a:a", b".a.")
_MANY_WORDS: Final = 64
"""From so many words on, computing all of `extra_words` is as fast."""

_PARTED: Final = re.compile(
    r"(?<![\w.-])(?:"
    r"(?P<number>\+?\(?\d[\d,']*\)?(?:[ .,'/:()-]{1,2}\d+)+)(?!\w)"
    r"|[A-Z]{2}\d{2}(?:[ ][A-Z0-9]{1,4}){3,8}(?!\w)"
    r"|[^\W_]+(?:(?:-|-\n[ \t]*|[\u2010\u2011]|:(?=[0-9A-Fa-f]{2}\b))[^\W_]+)+"
    r"|(?:[A-Za-z]\.){2,}[A-Za-z]?"
    r")"
)
"""What is written as one as well: numbers in groups, an IBAN, words with hyphens or broken at the end of a line, MAC
addresses, and abbreviations with points."""

_NO_WORD_SIGN: Final = re.compile(r"[\W_]+")
_LONGEST_JOINED: Final = 40
_FEWEST_DIGITS: Final = 5
_DATE: Final = re.compile(
    r"(?<![\w.-])(?:(?P<y1>(?:1[89]|20)\d\d)[-/.](?P<m1>\d\d?)[-/.](?P<d1>\d\d?)"
    r"|(?P<d2>\d\d?)\.[ ]?(?P<m2>\d\d?)\.[ ]?(?P<y2>(?:1[89]|20)\d\d))(?!\d)"
)
_DATE_DIGITS: Final = 8
_MONTHS: Final = 12
_DAYS: Final = 31
_SIGN_NAMES: Final = {"c++": "cpp", "c#": "csharp", "f#": "fsharp", ".net": "dotnet"}
_SIGNS: Final = re.compile(r"(?i)(?<![\w.])(?:c\+\+|[cf]\#|\.net\b)(?![\w#+])")
_PREFIXES: Final = {"--": "\ue000", "#": "\ue001", "@": "\ue002", "$": "\ue003"}
"""Letters for private use, which the tokenizer takes for those of a word, stand for the signs before words."""

_SIGNED: Final = re.compile(r"(?<![\w-])(--|[#@$])([A-Za-z\d]+)")
_SHAPES: Final = bytes(
    ord("a") if chr(byte).islower() else ord("A") if chr(byte).isupper() else ord("0") if chr(byte).isdigit() else 32
    for byte in range(128)
) + bytes(128)
_HUMPS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Plain ASCII does without the patterns that are text here; `re` compiles them when they are first used.
_UMLAUT: Final = "[äöüÄÖÜåÅøØæÆ\u0308\u030a]"
_UMLAUT_WORD: Final = r"(?<!\w)\w*[äöüÄÖÜåÅøØæÆ]\w*"
"""It begins where a word does: from each letter of a long one, the time would grow with the square of it."""

_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})
_WORD: Final = rf"(?:[^\W_]|[{UNSPACED_MARKS}])+(?:[\u0300-\u036f\u0900-\u0dff]+[^\W_]*)*"
_HAN: Final = "[\u3400-\u9fff\uf900-\ufaff]"
_PICTURE: Final = "[\u2600-\u27bf\u2b50-\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff]"
"""Emoji, each of which is a word; the colours of skin are none."""

_ACCENT: Final = "(?<=[A-Za-z\u0370-\u03ff])[\u0300-\u036f]+"
_SPELLINGS: Final[dict[str, str]] = {
    "ı": "i", "ł": "l", "đ": "d", "ø": "o", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ħ": "h", "ё": "е",
    "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ـ": "",
    "\u0901": "\u0902", "\u093c": "",
    **dict.fromkeys(map(chr, (0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)), ""),
    **dict.fromkeys(map(chr, (*range(0x64B, 0x660), 0x670, *range(0x591, 0x5BE), 0x5BF, 0x5C1, 0x5C2)), ""),
    **dict.fromkeys(map(chr, (0x5C4, 0x5C5, 0x5C7)), ""),
    **{letter: base for letter in map(chr, (*range(0x386, 0x3CF), *range(0x1F00, 0x1FFF)))
       if (base := unicodedata.normalize("NFD", letter.casefold())[:1]) != letter.casefold()},
}  # fmt: skip
_RESPELLED: Final = f"[{''.join(map(re.escape, _SPELLINGS))}]"
