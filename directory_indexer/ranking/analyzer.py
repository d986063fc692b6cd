"""Analysis of text into words: the fields of the full-text index, and the words of queries.

SQLite's own `unicode61` tokenizer handles plain text. This module adds what it lacks: parts of camelCase names,
languages without spaces, and equivalent spellings.

Analysis is deterministic, since FTS5 removes a row by the values that were inserted, and these are computed again. A
change of them raises `ANALYZER_VERSION`.

Languages without spaces become n-grams, one for every letter in the index. A query can do with fewer, since overlapping
n-grams are redundant.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from directory_indexer.core.lazy import lazily
from directory_indexer.ranking.markup import text_read_around_markup
from directory_indexer.ranking.separated import JOINING, MARKS, SHAPES, compiled, dates, separated_word_matches

with lazily:
    from directory_indexer.ranking.han import simplified


GRAM_SIZES: Final = (2, 3)
"""The letters of an n-gram: two in East Asian languages, three in the others."""

UNSPACED: Final = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"  # Thai, Lao, Burmese, Khmer: trigrams discriminate best
    "|[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\uac00-\ud7af]+"  # Chinese, Japanese, and Korean, whose endings are joined to the word
)
"""A run of letters of languages without spaces."""

UNSPACED_MARKS: Final = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u1056-\u1059\u105e-\u1060"
    "\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd"
)
"""Vowel and tone marks, which SQLite treats as parts of words and Python not as letters."""


def index_grams(run: str) -> str:
    """Split a run into overlapping n-grams, with the short ones at its end that make any part of it findable."""
    size = gram_size(run)
    return " ".join([run[at : at + size] for at in range(len(run))])


def query_grams(run: str) -> str:
    """Split a run into the n-grams to search for, without the short ones at its end."""
    size = gram_size(run)
    return " ".join([run[at : at + size] for at in range(max(1, len(run) - size + 1))])


def gram_size(run: str) -> int:
    """Return the size of the n-grams of a run."""
    return GRAM_SIZES[1] if run[0] < "\u2000" else GRAM_SIZES[0]


def is_gram(word: str) -> bool:
    """Whether a word of a query is an n-gram."""
    return not word.isascii() and bool(re.match(UNSPACED, word))


def join_grams(row: Sequence[str]) -> str:
    """Join consecutive n-grams to the run that they were cut from."""
    return "".join(gram[0] for gram in row[:-1]) + row[-1]


def select_grams(grams: Sequence[str], n_chunks: Mapping[str, int], *, step: int) -> list[str]:
    """Select n-grams from all over a query: the rarest known one of each `step` consecutive ones."""
    groups = (grams[at : at + step] for at in range(0, len(grams), step))
    return [min(group, key=lambda gram: n_chunks.get(gram) or _COUNT_IF_ABSENT) for group in groups]


_COUNT_IF_ABSENT: Final = 1 << 62


ANALYZER_VERSION: Final = 5
"""Changes whenever `index_fields` yields other words for the same text: the index must then be rebuilt."""

FTS_COLUMNS: Final = ("text", "parts", "heading", "title", "path")
FTS_TOKENIZE: Final = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
FTS_WEIGHTS: Final = (1.0, 0.7, 2.0, 2.0, 1.0)
"""The weights of `FTS_COLUMNS` in bm25()."""


class WordsWithPart(NamedTuple):
    """Words of an index that contain a part, with the number of chunks of each.

    If `last_row` is set, words of later chunks are unknown.
    """

    words: list[tuple[str, int]]
    last_row: int | None = None


def index_fields(*, text: str, heading: str, title: str, path: str) -> tuple[str, ...]:
    """Return the values of `FTS_COLUMNS` for one chunk; the same in every process for the same input.

    `path` is relative to the tracked directory and includes the file name.
    """
    names = f"{title}\n{path}"
    if heading.endswith("-"):  # a word broken at the end of a line may go on in the next one
        extra = extra_words(f"{text}\n{heading}\n{names}")
    else:
        extra = {*_camel_parts(f"{text}\n{heading}\n{names}"), *_joins(f"{text}\n{heading}"), *_joins_of_file(names)}
    parts = " ".join(sorted(extra))
    if plain_readings := text_read_around_markup(text):
        parts = f"{parts} {fold_spelling(plain_readings)}"
    return fold_spelling(text), parts, fold_spelling(heading), fold_spelling(title), fold_spelling(path)


@lru_cache(maxsize=64)
def _joins_of_file(names: str) -> tuple[str, ...]:
    """Return `_joins` of the title and path of a file, whose chunks come one after the other."""
    return tuple(_joins(names))


def fold_spelling(text: str) -> str:
    """Return text in the spelling of the index, except lower case and Latin accents, which SQLite folds."""
    if text.isascii():
        return text
    return re.sub(UNSPACED, lambda run: f" {index_grams(run[0])} ", _normalise(text))


def split_into_words(text: str) -> list[str]:
    """Split text into words exactly as the index does."""
    if text.isascii():
        return text.encode().translate(_ASCII_WORDS).decode().split()
    return _split_words(_fold_accents(fold_spelling(text)))


def query_words(text: str) -> list[str]:
    """Split text into words to search for, without the short n-grams at the end of runs without spaces."""
    if text.isascii():
        return split_into_words(text)
    return _split_words(_fold_accents(re.sub(UNSPACED, lambda run: f" {query_grams(run[0])} ", _normalise(text))))


def split_unspaced(text: str) -> tuple[str, str]:
    """Return the runs without spaces, one a line, and the rest of a text; faster than splitting the runs."""
    if text.isascii() or not re.search(UNSPACED, text):
        return "", text
    respelled = _normalise(text)
    return "\n".join(re.findall(UNSPACED, respelled)), re.sub(UNSPACED, " ", respelled)


def extra_words(text: str) -> set[str]:
    """Return the additional words under which a text is indexed.

    These are the parts of camelCase names, words with transliterated umlauts, words with hyphens, points or blanks
    joined (`re-elected`, `U.S.A.`, an IBAN), dates as 20260131, names with symbols such as C++, and words with their
    prefix, as in `--json` and `#34`.
    """
    return {*_camel_parts(text), *_joins(text)}


def _joins(text: str) -> Iterator[str]:
    return chain(_umlaut_forms(text), _joined_words(text), _dates(text), _names_of_signs(text), _signed_words(text))


class ExtraWords:
    """The words of a query, prepared for comparison with the `extra_words` of many texts.

    Extra words that no word of the query can match are not computed: most texts have none of its letters in a row, and
    nothing to join.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(words)
        ascii_words = [word for word in self._words if word.isascii()]
        self._encoded = list(map(str.encode, ascii_words))
        # A text with a longer word has the shorter one, too.
        self._shortest = [word for word in ascii_words if not any(w in word for w in ascii_words if w != word)]
        self._shortest_encoded = list(map(str.encode, self._shortest))
        self._others = [word for word in self._words if not word.isascii()]
        self._are_letters = all(map(str.isalpha, self._words))
        self._has_umlauts = any(pair in word for word in self._words for pair in _TRANSLITERATIONS)
        kinds = (
            (_dates, any(len(word) == _DATE_DIGITS and word.isdigit() for word in self._words)),
            (_names_of_signs, not frozenset(_SIGN_NAMES.values()).isdisjoint(self._words)),
            (_signed_words, any(word[:1] in _PREFIXES.values() for word in self._words)),
        )
        self._kinds = [kind for kind, is_possible in kinds if is_possible]

    def may_occur(self, text: str) -> bool:
        """Whether any of the words may be among the words or extra words of a text, a fast check of their letters."""
        if self._kinds or not text.isascii() or len(self._words) > _MANY_WORDS:
            return True
        together = text.encode().lower().translate(None, _ASCII_SIGNS)
        for word in self._shortest_encoded:  # noqa: SIM110 - a generator takes twice as long
            if word in together:
                return True
        return False

    def of(self, text: str, text_words: Sequence[str]) -> AbstractSet[str]:
        """Return the extra words of a text with these words, at least those that the query has, too."""
        if len(self._words) > _MANY_WORDS:
            return extra_words(text)
        extra = {word for kind in self._kinds for word in kind(text)}
        letters = text.encode("ascii", "replace").lower()
        if self._are_within_words(letters.decode(), text_words if text.isascii() else ()):
            extra |= _camel_parts(text)
        if self._may_be_joined(text, letters):
            extra.update(_joined_words(text))
        if self._has_umlauts:
            extra.update(_umlaut_forms(text))
        return extra

    def _are_within_words(self, letters: str, text_words: Sequence[str]) -> bool:
        """Whether a word occurs in a text more often than as one of its words."""
        for word in self._shortest:  # noqa: SIM110 - a generator takes twice as long
            if (n := letters.count(word)) and n > text_words.count(word):
                return True
        return False

    def _may_be_joined(self, text: str, letters: bytes) -> bool:
        """Whether a word occurs once characters other than letters and digits are removed, and not before."""
        is_ascii = text.isascii()
        if is_ascii and self._are_letters and not _has_joined_words(letters):
            return False
        together = letters.translate(None, _ASCII_SIGNS)
        for word in self._encoded:
            if (n := together.count(word)) and n > letters.count(word):
                return True
        if is_ascii or not self._others:
            return False
        joined, lowered = re.sub(_NON_WORD, "", text).lower(), text.lower()
        return "Σ" in text or any(joined.count(word) > lowered.count(word) for word in self._others)


@lru_cache(maxsize=512)
def _has_joined_words(letters: bytes) -> bool:
    """Whether signs within words may join them; cached, as searches while typing have mostly the same texts."""
    marks = letters.translate(MARKS)
    return any(compiled(joining).search(marks) for joining in JOINING)


def prefixed_word(word: str) -> str:
    """Return the index word for a word typed with a prefix, as in `--json`; "" for others."""
    return next(_signed_words(word), "")


def other_spellings(word: str) -> tuple[str, ...]:
    """Return other words of the index for a typed word: with transliterated umlauts, or as a date or year."""
    spelled = transliterate_umlauts(word.casefold())
    return (*(query_words(spelled) if spelled != word.casefold() else ()), *_dates(word), *_year_of_period(word))


def symbol_name(word: str) -> str:
    """Return the index word for a name with symbols, such as `cpp` for C++; "" for any other."""
    return _SIGN_NAMES.get(word.casefold(), "")


def phrase_words(text: str) -> tuple[str, ...]:
    """Return the consecutive words of a phrase in the index, up to its last run of letters.

    The index has a short n-gram at the end of every run without spaces: it belongs to the phrase between two runs, but
    not at its end.
    """
    if text.isascii():
        return tuple(split_into_words(text))
    respelled = _normalise(text).strip()
    last = next((run for run in re.finditer(UNSPACED, respelled) if not re.search(r"\w", respelled[run.end() :])), None)
    if last is None:
        return tuple(split_into_words(text))
    return (*split_into_words(respelled[: last.start()]), *query_words(last[0]))


def name_parts(name: str) -> tuple[str, ...]:
    """Split a camelCase name into its parts in lower case; () if no lower-case letter precedes a capital in it."""
    if name.islower() or name.isdigit() or name.isupper() or name[1:].islower():
        return ()
    parts = re.findall(_CAMEL_CASE_PART, name)
    return tuple(part.lower() for part in parts) if len(parts) > 1 else ()


def transliterate_umlauts(word: str) -> str:
    """Write the umlauts of a word as two letters, as in Mueller."""
    return word.translate(_UMLAUTS)


def _camel_parts(text: str) -> set[str]:
    parts: set[str] = set()
    letters = text.encode("ascii", "replace")
    # Changes of case are detected ten times faster than by a regular expression.
    shape = letters.translate(SHAPES)
    if shape.find(b"aA") < 0 and shape.find(b"AAa") < 0 and shape.find(b"0A") < 0:  # `in` takes longer for bytes
        return parts
    for hump in _HUMP_SHAPES:
        at = shape.find(hump)
        while at >= 0:
            end = shape.find(b" ", at) % (len(shape) + 1)
            parts.update(_known_parts[letters[shape.rfind(b" ", 0, at) + 1 : end]])
            at = shape.find(hump, end)
    return parts


class _KnownParts(dict[bytes, tuple[str, ...]]):
    """The parts of names, by name; cleared when there are too many."""

    def __missing__(self, name: bytes) -> tuple[str, ...]:
        if len(self) >= _MAX_NAMES:
            self.clear()
        return self.setdefault(name, name_parts(name.decode()))


def _joined_words(text: str) -> Iterator[str]:
    matches = separated_word_matches(text)
    for match, joined in zip(matches, _without_signs([match[0] for match in matches]), strict=True):
        if len(joined) <= _MAX_JOINED_LENGTH and (match.lastgroup is None or len(joined) >= _MIN_DIGITS):
            yield joined


def _without_signs(texts: Sequence[str]) -> Sequence[str]:
    together = _BETWEEN.join(texts)
    if together.isascii():  # three times as fast as one after the other
        return together.encode().translate(_LOWER, _SIGNS_WITHIN).decode().split(_BETWEEN) if texts else texts
    return [re.sub(_NON_WORD, "", text).lower() for text in texts]


def _dates(text: str) -> Iterator[str]:
    for match in dates(text):
        year, month, day = (
            (match["y1"], match["m1"], match["d1"]) if match["y1"] else (match["y2"], match["m2"], match["d2"])
        )
        if 1 <= int(month) <= _MONTHS and 1 <= int(day) <= _DAYS:
            yield f"{year}{int(month):02}{int(day):02}"


def _year_of_period(word: str) -> Iterator[str]:
    """Yield the year of a business period such as FY2019, FY19, Q3FY2019 or H12019."""
    if match := compiled(_PERIOD).fullmatch(word):
        year = match["full"] or match["year"]
        yield year if len(year) == _YEAR_DIGITS else f"{19 if year >= _LAST_CENTURY else 20}{year}"


def _names_of_signs(text: str) -> Iterator[str]:
    is_any = (
        ("+" in text and compiled(_PLUS_SIGNS).search(text))
        or ("#" in text and compiled(_SHARP).search(text))
        or ("." in text and compiled(_NET).search(text))
    )
    return (_SIGN_NAMES[match[0].lower()] for match in (re.finditer(SIGNS, text) if is_any else ()))


def _signed_words(text: str) -> Iterator[str]:
    signed = compiled(_SIGNED).findall(text) if any(map(text.__contains__, _PREFIXES)) else ()
    return (_PREFIXES[sign] + word.lower() for sign, word in signed)


def _umlaut_forms(text: str) -> list[str]:
    if text.isascii() or not re.search(_UMLAUT, text):
        return []
    composed = _compose(text)
    return [transliterate_umlauts(word.casefold()) for word in re.findall(_UMLAUT_WORD, composed)]


def _compose(text: str) -> str:
    """Return a text in NFKC, with blanks before raised marks, which would become a part of the word before them."""
    return unicodedata.normalize("NFKC", re.sub(_RAISED, r" \g<0>", text))


def _normalise(text: str) -> str:
    composed = _compose(text).casefold()
    respelled = re.sub(_RESPELLED, lambda letter: _SPELLINGS[letter[0]], composed)
    if re.search(_HAN, respelled):
        respelled = simplified(respelled)
    return re.sub(_PICTURE, lambda sign: f" emoji{ord(sign[0]):x} ", respelled)


def _split_words(lowered: str) -> list[str]:
    # Without alternatives, the pattern takes half the time.
    return re.findall(_WORD_WITH_MARKS if re.search(_VOWEL_MARK, lowered) else _WORD, lowered)


def _fold_accents(folded: str) -> str:
    if folded.isascii():
        return folded.lower()
    return unicodedata.normalize("NFC", re.sub(_ACCENT, "", unicodedata.normalize("NFD", folded.lower())))


_ASCII_WORDS: Final = bytes(byte if chr(byte).isalnum() else ord(" ") for byte in bytes(range(128)).lower()) + bytes(
    128
)
_MAX_NAMES: Final = 1 << 16
_known_parts: Final = _KnownParts()
_HUMP_SHAPES: Final = (b"aA", b"AAa", b"0A", b"AA0")
"""Parts of the shapes of names that have parts; the last counts in a text that has another one."""

_LOWER: Final = bytes(range(256)).lower()
_ASCII_SIGNS: Final = bytes(byte for byte in range(128) if not chr(byte).isalnum())
_BETWEEN: Final = "\0"
_SIGNS_WITHIN: Final = _ASCII_SIGNS.replace(_BETWEEN.encode(), b"")
_MANY_WORDS: Final = 128
"""From this number on, computing all of `extra_words` is as fast."""

# Patterns are strings here, compiled on first use: most processes that import this need none of them.
_NON_WORD: Final = r"[\W_]+"
_MAX_JOINED_LENGTH: Final = 40
_MIN_DIGITS: Final = 5
_DATE_DIGITS: Final = 8
_MONTHS: Final = 12
_DAYS: Final = 31
_SIGN_NAMES: Final = {"c++": "cpp", "c#": "csharp", "f#": "fsharp", ".net": "dotnet"}
SIGNS: Final = r"(?i)(?<![\w.])(?:c\+\+|[cf]\#|\.net\b)(?![\w#+])"
# Each of these begins with one character, which `re` finds faster than any of several.
_PLUS_SIGNS: Final = r"\+(?<=[cC]\+)\+"
_SHARP: Final = r"#(?<=[cCfF]#)"
_NET: Final = r"\.[nN][eE][tT]"
_PREFIXES: Final = {"--": "\ue000", "#": "\ue001", "@": "\ue002", "$": "\ue003"}
"""Private-use letters, which the tokenizer treats as parts of words, stand for the prefixes of words."""

_PERIOD: Final = r"(?i:(?:[qh][1-4])?[fc]y(?P<year>(?:19|20)?[0-9]{2})|[qh][1-4](?P<full>(?:19|20)[0-9]{2}))"
_YEAR_DIGITS: Final = 4
_LAST_CENTURY: Final = "60"
"""Two digits from here on are a year before 2000."""

_SIGNED: Final = r"([-#@$](?<![\w-][-#@$])(?:(?<!-)|(?<=-)-))([A-Za-z\d]+)"
_CAMEL_CASE_PART: Final = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_UMLAUT: Final = "[äöüÄÖÜåÅøØæÆ\u0308\u030a]"
_UMLAUT_WORD: Final = r"(?<!\w)\w*[äöüÄÖÜåÅøØæÆ]\w*"
"""Anchored at the start of a word: starting at each letter of a long one would take quadratic time."""

_TRANSLITERATIONS: Final = ("ae", "oe", "ue", "aa")
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})
_VOWEL_MARK: Final = f"[{UNSPACED_MARKS}]"
_WORD: Final = r"[^\W_]+(?:[\u0300-\u036f\u0900-\u0dff]+[^\W_]*)*"
_WORD_WITH_MARKS: Final = rf"(?:[^\W_]|{_VOWEL_MARK})+(?:[\u0300-\u036f\u0900-\u0dff]+[^\W_]*)*"
_HAN: Final = "[\u3400-\u9fff\uf900-\ufaff]"
_PICTURE: Final = "[\u2600-\u27bf\u2b50-\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff]"
"""Emoji, each of which is a word, without skin-tone modifiers."""

_ACCENT: Final = "[\u0300-\u036f](?<=[A-Za-z\u0370-\u03ff][\u0300-\u036f])[\u0300-\u036f]*"
_MARKS_RAISED: Final = "[\u00ae\u00b9\u00b2\u00b3\u2070-\u207f\u2120\u2122]"
_RAISED: Final = rf"{_MARKS_RAISED}(?<=[^\W\d_]{{3}}{_MARKS_RAISED}){_MARKS_RAISED}*"
"""Marks of a note or a brand after a word of three letters; units such as m\u00b2 stay whole."""

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
