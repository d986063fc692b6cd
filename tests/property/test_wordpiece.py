"""The tokens here are those of the tokenizers library with the model's vocabulary, on every string."""

from __future__ import annotations

import random
import re
import string
import sys
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from directory_indexer.embedding.model_files import MODEL_DIRECTORY
from directory_indexer.embedding.wordpiece import END_TOKEN, START_TOKEN, count_tokens, token_ids


def characters(unicode: unicodedata.UCD | None = None) -> list[str]:
    """Return the characters of a version of Unicode; of ideographs and Hangul syllables every sixteenth."""
    category = (unicode or unicodedata).category
    codes = (*range(0xD800), *range(0xE000, sys.maxunicode + 1))
    few = [chr(code) for code in codes if code % 16 == 0 or not MANY_ALIKE.match(chr(code))]
    return [character for character in few if category(character) not in {"Cn", "Co"}]


MANY_ALIKE = re.compile("[\u3400-\u9fff\uac00-\ud7ff\U00020000-\U0003ffff]")

REASSIGNED = {"\u166d", "\u1734", "\u1885", "\u1886"}
"""Characters whose category has changed since the library's version of Unicode."""


@cache
def known_characters() -> list[str]:
    """Return what the library knows; Python has no other old version of Unicode."""
    return [character for character in characters(unicodedata.ucd_3_2_0) if character not in REASSIGNED]


CODE = st.text(string.ascii_letters + string.digits + string.punctuation + " \t\r\n\x0b\x0c\x1c\x7f\0", max_size=200)
WORDS = st.lists(
    st.sampled_from(["naïve", "Straße", "漢字かな", "ΣΊΣΥΦΟΣ", "a" * 101, "é" * 120, "[SEP]", "\ufffd", "ﬁn"])
)
ANY = st.deferred(lambda: st.text(st.sampled_from(known_characters()), max_size=200))
STRANGE = st.text(
    st.sampled_from("aB1_.\u0301\u0e33\u3042\uac00\u1100\u200d\ufeff\x85\u2028\xa0漢。é€\U0001f600\uf900\ufa6e≠\u1fef ")
)


@cache
def tokenizer() -> Tokenizer:
    tokens = Path(MODEL_DIRECTORY, "vocabulary.txt").read_text(encoding="utf-8").split("\n")
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def library_ids(text: str) -> list[int]:
    ids: list[int] = tokenizer().encode(text, add_special_tokens=False).ids
    return ids


def own_ids(text: str) -> list[int]:
    return token_ids(text, limit=1_000_000)[1:-1]


@given(st.one_of(CODE, ANY, STRANGE, WORDS.map(" ".join), WORDS.map("".join)))
@example("")
@example("wa\x0cter wa\x0bter wa\x1cter wa\x00ter wa\x7fter wa\x85ter")
@example("ab" * 50)
@example("ab" * 50 + "c")
@example("é" * 100)
def test_the_count_is_the_librarys(text: str) -> None:
    assert count_tokens(text) == len(library_ids(text))


@given(st.one_of(CODE, ANY, STRANGE).map(str.lower))
def test_what_is_counted_is_what_the_model_reads_between_its_marks(text: str) -> None:
    ids = token_ids(text, limit=1000)

    assert len(ids) == count_tokens(text) + 2
    assert (ids[0], ids[-1]) == (START_TOKEN, END_TOKEN)


@given(st.one_of(CODE, ANY, STRANGE, st.text(string.ascii_letters, max_size=120)))
@example("ab" * 50 + "c [SEP] [CLS] ##ing unaffable")
@example("\x1fTO\x00KEN\x7fIZERS aren't \x0b\x0cmagic_words2go")
def test_the_model_reads_the_librarys_tokens(text: str) -> None:
    assert own_ids(text) == library_ids(text)


@pytest.mark.slow
def test_ten_thousand_texts_of_many_scripts_have_the_librarys_tokens() -> None:
    chance = random.Random(7)  # noqa: S311 - the same texts each time
    known = known_characters()
    alphabets = [known[start : start + 300] for start in range(0, len(known), 150)]
    for _ in range(10_000):
        letters = [*chance.choice(alphabets), *string.ascii_letters, *" '-_,.\n" * 8]
        text = "".join(chance.choices(letters, k=chance.randint(1, 120)))
        assert own_ids(text) == library_ids(text)


@pytest.mark.slow
def test_only_characters_newer_than_the_library_differ() -> None:
    differing = {c for c in characters() if own_ids(f"a{c}b {c}") != library_ids(f"a{c}b {c}")}

    assert differing.isdisjoint(known_characters())
    assert {unicodedata.category(character)[0] for character in differing} <= set("MPCS")
    assert len(differing) < MOST_NEWER


MOST_NEWER = 1000


@given(st.lists(st.one_of(CODE, ANY, STRANGE), max_size=5))
def test_lines_count_as_much_as_the_text_they_make(lines: list[str]) -> None:
    assert count_tokens("\n".join(lines)) == sum(map(count_tokens, lines))


@given(st.text(st.characters(), max_size=50))
def test_lone_surrogates_count_as_what_the_model_reads_in_their_place(text: str) -> None:
    assert count_tokens(text) == count_tokens(text.encode("utf-8", "replace").decode("utf-8"))


@given(ANY, st.integers(min_value=0, max_value=5))
def test_no_more_than_the_limit_is_read(text: str, limit: int) -> None:
    ids = token_ids(text.lower(), limit=limit)

    assert len(ids) == min(count_tokens(text.lower()), limit) + 2
