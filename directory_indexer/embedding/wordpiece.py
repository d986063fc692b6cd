"""Tokens of all-MiniLM-L6-v2: ids for the model, and the length of a text in chunk tokens.

A token is a word, a part of a word or a punctuation mark, and never spans white space. The count of a text is therefore
the sum over its words, and words repeat: counting is a look-up. ASCII words are split here, since the tokenizer, which
handles all of Unicode, takes 40 ms of processor time to load. Both agree on every string.

The model splits Arabic, Russian or Korean into single letters, so a chunk of its tokens would hold a sentence. In
lengths of chunks their letters are weighted by information instead: translations of one text then have equally many
chunks. Every provider gets the same chunks.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from directory_indexer.core.lazy import lazily
from directory_indexer.embedding.model_files import verified_file

with lazily:
    from tokenizers import Tokenizer


START_TOKEN = 101
END_TOKEN = 102
N_TOKENS = 30_522
"""Size of the vocabulary."""


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text, without the start and end tokens."""
    if text.isascii():
        return _count_ascii(text.encode("ascii"))
    spaced, n_single = re.subn(_SINGLE, " ", text)
    chunks = _WHITE_SPACE.split(spaced)
    n_ascii = _count_ascii(" ".join(filter(str.isascii, chunks)).encode("ascii"))
    return n_single + n_ascii + sum(_count_chunk(chunk) for chunk in chunks if not chunk.isascii())


def token_ids(text: str, *, limit: int) -> list[int]:
    """Return the ids for the model: at most `limit` tokens of the text, between start and end tokens."""
    # Only a prefix is processed, so that long texts cost little; prose and code have 3 to 6 characters a token.
    start = _encodable(text[: limit * _MAX_CHARS_PER_TOKEN])
    if start.isascii():
        ids = [id_ for word in _ASCII_WORD.findall(start.translate(_WITHOUT_CONTROLS)) for id_ in _ids_of_word[word]]
    else:
        ids = _tokenizer().encode(start, add_special_tokens=False).ids
    return [START_TOKEN, *ids[:limit], END_TOKEN]


def words_of(text: str) -> list[bytes]:
    """Return the lower-case words of a text without ASCII punctuation."""
    return text.encode(errors="replace").translate(_LOWER_WORDS, _CONTROLS).split()


def pieces_of_ascii_word(word: str) -> tuple[int, ...]:
    """Return the token ids of a lower-case word."""
    return _ids_of(word)


def pieces_of_text(text: str) -> list[int]:
    """Return the token ids of any text, however long."""
    ids: list[int] = _tokenizer().encode(_encodable(text), add_special_tokens=False).ids
    return ids


@cache
def _vocabulary() -> dict[str, int]:
    with open(verified_file("vocabulary.txt"), "rb") as file:
        tokens = file.read().decode().split("\n")
    return dict(zip(tokens, range(len(tokens)), strict=True))


@cache
def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(verified_file("tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # "[SEP]" in a file is plain text, not the separator token.
    tokenizer.encode_special_tokens = True
    return tokenizer


# Longer words are one unknown token.
_MAX_WORD_CHARS = 100
_MAX_CHARS_PER_TOKEN = 32
_MAX_CACHED = 1 << 17

# Chinese characters and their punctuation, each of which is a token by itself. Compiled on first use, which takes 2 ms.
_SINGLE = (
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf"
    "\uf900-\ufaff\U0002f800-\U0002fa1f\u3001-\u3003\u3008-\u3011\uff01-\uff03\uff08-\uff0a\uff0c-\uff0f]"
)

# ASCII white space of the tokenizer. It deletes other control characters, so they join words.
_WHITE_SPACE = re.compile("[ \t\n\r]+")
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r"))
# As in `string`, which takes 1 ms to import.
_PUNCTUATION = bytes(code for code in range(33, 127) if not chr(code).isalnum())
_CAPITALS = bytes(range(ord("A"), ord("Z") + 1))
_ALL_BUT_PUNCTUATION = bytes(set(range(256)) - set(_PUNCTUATION))
_ASCII_WORD = re.compile("[a-z0-9]+|[^ \\ta-z0-9\\r\\n]")
_WITHOUT_CONTROLS = {**dict.fromkeys(_CONTROLS), **{big: chr(big).lower() for big in _CAPITALS}}
_UNKNOWN_TOKEN = 100
_LOWER_WORDS = bytes.maketrans(
    _PUNCTUATION + _CAPITALS,
    b" " * len(_PUNCTUATION) + _CAPITALS.lower(),
)


def _count_ascii(text: bytes) -> int:
    n_marks = len(text.translate(None, _ALL_BUT_PUNCTUATION))
    words = text.translate(_LOWER_WORDS, _CONTROLS).split()
    return n_marks + sum(map(_pieces_of_word.__getitem__, words))


def _ids_of(word: str) -> tuple[int, ...]:
    """Split an ASCII word greedily into the longest pieces of the vocabulary."""
    if len(word) > _MAX_WORD_CHARS:
        return (_UNKNOWN_TOKEN,)
    ids: list[int] = []
    vocabulary = _vocabulary()
    mark, rest = "", word
    while len(rest) > len(mark):
        end = len(rest)
        while rest[:end] not in vocabulary:
            end -= 1
            if end == len(mark):
                return (_UNKNOWN_TOKEN,)
        ids.append(vocabulary[rest[:end]])
        mark, rest = "##", f"##{rest[end:]}"
    return tuple(ids)


def _count_chunk(chunk: str) -> int:
    return _pieces_of_chunk[chunk] if len(chunk) <= _MAX_WORD_CHARS else _count_pieces(chunk)


def _count_pieces(text: str) -> int:
    return len(_tokenizer().encode(_encodable(text), add_special_tokens=False))


def _encodable(text: str) -> str:
    """Replace lone surrogates by question marks, since the tokenizer rejects them."""
    return text.encode("utf-8", "replace").decode("utf-8")


class _WordCounts(dict[bytes, int]):
    """Cache of the number of tokens of lower-case words; cleared when it is full."""

    def __missing__(self, word: bytes) -> int:
        if len(word) > _MAX_WORD_CHARS:
            return 1
        if len(self) >= _MAX_CACHED:
            self.clear()
        return self.setdefault(word, len(_ids_of(word.decode("ascii"))))


class _ChunkCounts(dict[str, int]):
    """Cache of the number of tokens of other strings between white space."""

    def __missing__(self, chunk: str) -> int:
        if len(self) >= _MAX_CACHED:
            self.clear()
        return self.setdefault(chunk, _count_pieces(chunk))


class _WordIds(dict[str, tuple[int, ...]]):
    """Cache of the token ids of lower-case ASCII words."""

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _MAX_CACHED:
            self.clear()
        return self.setdefault(word, _ids_of(word))


_ids_of_word = _WordIds()
_pieces_of_word = _WordCounts()
_pieces_of_chunk = _ChunkCounts()


def count_chunk_tokens(text: str) -> int:
    """Return the number of tokens of a text; one without spaces never counts for more than its parts."""
    if text.isascii():
        return _count_ascii(text.encode())
    n_syllables = sum(map(len, re.findall(_SYLLABLES, text)))
    n_letters = sum(map(len, re.findall(_LETTERS, text)))
    if not n_letters and not n_syllables:
        return count_tokens(text)
    read = re.sub(f"{_SYLLABLES}|{_LETTERS}", " ", text)
    return count_tokens(read) + -(-(2 * n_syllables + n_letters) // _LETTERS_A_TOKEN)


# A single letter is a formula or an abbreviation, and left to the model, so that English texts are cut as it reads
# them. Compiled on first use.
_LETTERS: Final = (
    "[\u0370-\u10ff\u1200-\u1aaf\u1b00-\u1cff\u1f00-\u1fff\u2c80-\u2dff\ua640-\ua69f\ua8e0-\ua8ff\uabc0-\uabff"
    "\ufb13-\ufdff\ufe70-\ufefc]{2,}"
)
_SYLLABLES: Final = "[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\uac00-\ud7ff\uff66-\uff9f]{2,}"
"""Korean and Japanese syllables carry as much information as two letters each; Chinese characters are tokens as they
are.
"""

_LETTERS_A_TOKEN: Final = 3
"""English has 3.1 letters per token, white space included."""
