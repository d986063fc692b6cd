"""Counting by look-up agrees with the tokenizer of the model on every string."""

from __future__ import annotations

import os
import string
from functools import cache
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from directory_indexer.embedding.model_files import MODEL_DIRECTORY
from directory_indexer.embedding.wordpiece import END_TOKEN, START_TOKEN, count_tokens, token_ids

CODE = st.text(string.ascii_letters + string.digits + string.punctuation + " \t\r\n\x0b\x0c\x1c\x7f\0", max_size=200)
WORDS = st.lists(
    st.sampled_from(["naïve", "Straße", "漢字かな", "ΣΊΣΥΦΟΣ", "a" * 101, "é" * 120, "[SEP]", "\ufffd", "ﬁn"])
)
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
STRANGE = st.text(
    st.sampled_from("aB1_.\u0301\u0e33\u3042\uac00\u1100\u200d\ufeff\x85\u2028\xa0漢。é€\U0001f600\uf900\ufa6e ")
)


@cache
def tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(os.path.join(MODEL_DIRECTORY, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    return tokenizer


def test_the_list_of_tokens_is_the_tokenizers() -> None:
    tokens = Path(MODEL_DIRECTORY, "vocabulary.txt").read_text(encoding="utf-8").split("\n")

    assert {token: number for number, token in enumerate(tokens)} == tokenizer().get_vocab()


@given(st.one_of(CODE, ANY, STRANGE, WORDS.map(" ".join), WORDS.map("".join)))
@example("")
@example("wa\x0cter wa\x0bter wa\x1cter wa\x00ter wa\x7fter wa\x85ter")
@example("ab" * 50)
@example("ab" * 50 + "c")
@example("é" * 100)
def test_the_count_is_the_tokenizers(text: str) -> None:
    assert count_tokens(text) == len(tokenizer().encode(text, add_special_tokens=False).ids)


@given(st.one_of(CODE, ANY, STRANGE).map(str.lower))
def test_what_is_counted_is_what_the_model_reads_between_its_marks(text: str) -> None:
    ids = token_ids(text, limit=1000)

    assert len(ids) == count_tokens(text) + 2
    assert (ids[0], ids[-1]) == (START_TOKEN, END_TOKEN)


@given(st.one_of(CODE, ANY, STRANGE, st.text(string.ascii_letters, max_size=120)))
@example("ab" * 50 + "c [SEP] [CLS] ##ing unaffable")
@example("\x1fTO\x00KEN\x7fIZERS aren't \x0b\x0cmagic_words2go")
def test_what_the_model_reads_is_what_the_tokenizer_gives(text: str) -> None:
    assert token_ids(text, limit=1000)[1:-1] == tokenizer().encode(text, add_special_tokens=False).ids


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
