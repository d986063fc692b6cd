"""Tokens of all-MiniLM-L6-v2: ids for the model, and the length of a text in chunk tokens.

A token is a word, a part of a word or a punctuation mark, and never spans white space. The count of a text is therefore
the sum over its words, and words repeat: counting is a look-up. The tokens are those of the tokenizers library with its
`BertNormalizer`, except for marks and punctuation added to Unicode since version 8: the library does not know them.
(Devlin et al., "BERT", 2018.)

The model splits Arabic, Russian or Korean into single letters, so a chunk of its tokens would hold a sentence. In
lengths of chunks their letters are weighted by information instead: translations of one text then have equally many
chunks. Every provider gets the same chunks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, TypeVar

from directory_indexer.chunking import TOKEN_WEIGHT
from directory_indexer.core.lazy import lazily
from directory_indexer.embedding.model_files import verified_file

with lazily:
    from ahocorasick_rs import BytesAhoCorasick, MatchKind

K = TypeVar("K")
V = TypeVar("V")

START_TOKEN = 101
END_TOKEN = 102
N_TOKENS = 30_522
N_SPECIAL_TOKENS = 998
"""Number of special tokens at the start of the vocabulary."""

"""Size of the vocabulary."""


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text, without the start and end tokens."""
    if text.isascii():
        return _count_ascii_tokens(text.encode("ascii"))
    chunks = _WHITE_SPACE.split(text)
    n_ascii = _count_ascii_tokens(" ".join(filter(str.isascii, chunks)).encode("ascii"))
    return n_ascii + sum(_count_chunk(chunk) for chunk in chunks if not chunk.isascii())


def token_ids(text: str, *, limit: int) -> list[int]:
    """Return the ids for the model: at most `limit` tokens of the text, between start and end tokens."""
    # Only a prefix is processed, so that long texts cost little; prose and code have 3 to 6 characters a token.
    return [START_TOKEN, *token_ids_of_text(text[: limit * _MAX_CHARS_PER_TOKEN])[:limit], END_TOKEN]


def lower_words(text: str) -> list[bytes]:
    """Return the lower-case words of a text without ASCII punctuation."""
    return text.encode(errors="replace").translate(_LOWER_WORDS, _CONTROL_BYTES).split()


def token_ids_of_text(text: str) -> list[int]:
    """Return the token ids of any text, however long."""
    return [id_ for word in _words_and_punctuation(text) for id_ in _ids_of_word[word]]


def is_whole_token(word: str) -> bool:
    """Whether a word in lower case is one token."""
    return word in _vocabulary()


@cache
def _vocabulary() -> dict[str, int]:
    with open(verified_file("vocabulary.txt"), "rb") as file:
        tokens = file.read().decode().split("\n")
    return dict(zip(tokens, range(len(tokens)), strict=True))


@cache
def _continuation_matcher() -> tuple[BytesAhoCorasick, list[int]]:
    """Return a matcher of the pieces within words, and their ids."""
    pieces = {
        token[len(_CONTINUATION_MARK) :]: id_
        for token, id_ in _vocabulary().items()
        if token.startswith(_CONTINUATION_MARK)
    }
    matcher = BytesAhoCorasick((piece.encode() for piece in pieces), matchkind=MatchKind.LeftmostLongest)
    return matcher, list(pieces.values())


_CONTINUATION_MARK = "##"
# Longer words are one unknown token.
_MAX_WORD_CHARS = 100
_MAX_PIECE_CHARS = 18
_MAX_CHARS_PER_TOKEN = 32
_MAX_CACHED = 1 << 17

# ASCII white space of the tokenizer. It deletes other control characters, so they join words.
_WHITE_SPACE = re.compile("[ \t\n\r]+")
_CONTROL_BYTES = bytes({*range(32), 127} - set(b"\t\n\r"))
# As in `string`, which takes 1 ms to import.
_PUNCTUATION = bytes(code for code in range(33, 127) if not chr(code).isalnum())
_ASCII_CAPITALS = bytes(range(ord("A"), ord("Z") + 1))
_ALL_BUT_PUNCTUATION = bytes(set(range(256)) - set(_PUNCTUATION))
_ALL_BUT_PUNCTUATION_AND_ENDS = bytes(set(_ALL_BUT_PUNCTUATION) - set(b"\n"))
_LINES_AT_ONCE = 4096
_ASCII_WORD = re.compile("[a-z0-9]+|[^ \\ta-z0-9\\r\\n]")
_LOWER_WITHOUT_CONTROLS = {**dict.fromkeys(_CONTROL_BYTES), **{big: chr(big).lower() for big in _ASCII_CAPITALS}}
_UNKNOWN_TOKEN = 100
_LOWER_WORDS = bytes.maketrans(
    _PUNCTUATION + _ASCII_CAPITALS,
    b" " * len(_PUNCTUATION) + _ASCII_CAPITALS.lower(),
)


def _words_and_punctuation(text: str) -> list[str]:
    """Return the lower-case words of a text without accents, and its punctuation marks, in their order."""
    if text.isascii():
        return _ASCII_WORD.findall(text.translate(_LOWER_WITHOUT_CONTROLS))
    return text.translate(_normalised).split()


def _normalise(character: str) -> str:
    """Return a character in lower case without accents, between spaces if it is a token by itself."""
    category = unicodedata.category(character)
    if character in "\t\n\r" or category[0] == "Z":
        return " "
    if category == "Cs":  # half of a character, a question mark in UTF-8
        return " ? "
    if (category[0] == "C" and category != "Cn") or character == "\ufffd":
        return ""
    parts = unicodedata.normalize("NFD", character)
    letters = "".join(
        map(_space_around_punctuation, (part.lower() for part in parts if unicodedata.category(part) != "Mn"))
    )
    return f" {letters} " if _IDEOGRAPH_PATTERN.match(character) else letters


def _space_around_punctuation(letter: str) -> str:
    return f" {letter} " if unicodedata.category(letter)[0] == "P" or letter in "$+<=>^`|~" else letter


_IDEOGRAPH_PATTERN = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf"
    "\uf900-\ufaff\U0002f800-\U0002fa1f]"
)


def _count_ascii_tokens(text: bytes) -> int:
    n_marks = len(text.translate(None, _ALL_BUT_PUNCTUATION))
    words = text.translate(_LOWER_WORDS, _CONTROL_BYTES).split()
    return n_marks + sum(map(_pieces_of_word.__getitem__, words))


def _token_ids_of_word(word: str) -> tuple[int, ...]:
    """Split a word greedily into the longest pieces of the vocabulary."""
    if len(word) > _MAX_WORD_CHARS:
        return (_UNKNOWN_TOKEN,)
    vocabulary, end = _vocabulary(), _first_piece_end(word)
    if end in (0, len(word)):
        return (vocabulary.get(word, _UNKNOWN_TOKEN),)
    matcher, ids = _continuation_matcher()
    rest = word[end:].encode()
    matches = matcher.find_matches_as_indexes(rest)
    if sum(stop - start for _, start, stop in matches) < len(rest):
        return (_UNKNOWN_TOKEN,)
    return (vocabulary[word[:end]], *(ids[piece] for piece, _, _ in matches))


def _count_word_pieces(word: bytes) -> int:
    """Count the tokens of a word of ASCII letters and digits, each of which is in the vocabulary."""
    end = _first_piece_end(word.decode("ascii"))
    if end == len(word) or len(word) > _MAX_WORD_CHARS:
        return 1
    return 1 + len(_continuation_matcher()[0].find_matches_as_indexes(word[end:]))


def _first_piece_end(word: str) -> int:
    vocabulary, end = _vocabulary(), min(len(word), _MAX_PIECE_CHARS)
    while end and word[:end] not in vocabulary:
        end -= 1
    return end


def _count_chunk(chunk: str) -> int:
    return _pieces_of_chunk[chunk] if len(chunk) <= _MAX_WORD_CHARS else _count_pieces(chunk)


def _count_pieces(text: str) -> int:
    return sum(map(len, map(_ids_of_word.__getitem__, _words_and_punctuation(text))))


class _BoundedCache(dict[K, V]):
    """Computed values by their keys; cleared when it is full."""

    def __init__(self, compute: Callable[[K], V]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, key: K) -> V:
        if len(self) >= _MAX_CACHED:
            self.clear()
        return self.setdefault(key, self._compute(key))


_normalised = _BoundedCache[int, str](lambda code: _normalise(chr(code)))
"""Table from characters to lower case without accents."""

_ids_of_word = _BoundedCache[str, tuple[int, ...]](_token_ids_of_word)
_pieces_of_word = _BoundedCache[bytes, int](_count_word_pieces)
_pieces_of_chunk = _BoundedCache[str, int](_count_pieces)


def count_chunk_tokens(text: str) -> int:
    """Return the number of tokens of a text; one without spaces never counts for more than its parts."""
    return -(-_line_weight(text) // TOKEN_WEIGHT)


def weigh_lines(lines: Sequence[str]) -> list[int]:
    """Return the weight of each line: the tokens of a text are a third of the sum over its lines, rounded up."""
    weights: list[int] = []
    for at in range(0, len(lines), _LINES_AT_ONCE):
        some = lines[at : at + _LINES_AT_ONCE]
        text = "\n".join(some)
        if text.isascii():
            weights += _weigh_ascii(text)
        else:
            of_ascii = _weigh_ascii("\n".join([line if line.isascii() else "" for line in some]))
            weights += [weight or _line_weight(line) for weight, line in zip(of_ascii, some, strict=True)]
    return weights


def _weigh_ascii(text: str) -> list[int]:
    content, n_pieces = text.encode(), _pieces_of_word.__getitem__
    marks = content.translate(None, _ALL_BUT_PUNCTUATION_AND_ENDS).split(b"\n")
    words = map(bytes.split, content.translate(_LOWER_WORDS, _CONTROL_BYTES).split(b"\n"))
    return [
        TOKEN_WEIGHT * (len(marks_of_line) + sum(map(n_pieces, words_of_line)))
        for marks_of_line, words_of_line in zip(marks, words, strict=True)
    ]


def _line_weight(text: str) -> int:
    if text.isascii():
        return TOKEN_WEIGHT * _count_ascii_tokens(text.encode())
    n_syllables = sum(map(len, re.findall(_SYLLABIC_SCRIPTS, text)))
    n_letters = sum(map(len, re.findall(_OTHER_ALPHABETS, text)))
    read = re.sub(f"{_SYLLABIC_SCRIPTS}|{_OTHER_ALPHABETS}", " ", text) if n_letters or n_syllables else text
    return TOKEN_WEIGHT * count_tokens(read) + 2 * n_syllables + n_letters


# A single letter is a formula or an abbreviation, and left to the model, so that English texts are cut as it reads
# them. Compiled on first use.
_OTHER_ALPHABETS: Final = (
    "[\u0370-\u10ff\u1200-\u1aaf\u1b00-\u1cff\u1f00-\u1fff\u2c80-\u2dff\ua640-\ua69f\ua8e0-\ua8ff\uabc0-\uabff"
    "\ufb13-\ufdff\ufe70-\ufefc]{2,}"
)
_SYLLABIC_SCRIPTS: Final = "[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\uac00-\ud7ff\uff66-\uff9f]{2,}"
"""Korean and Japanese syllables carry as much information as two letters each; Chinese characters are tokens as they
are.
"""
