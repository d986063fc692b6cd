"""Cutting a text into pieces here agrees with the `Unigram` model of the tokenizers library on every string."""

from __future__ import annotations

import string
import unicodedata
from functools import cache

from hypothesis import assume, example, given
from hypothesis import strategies as st
from tiny_models import LETTERS, MARKS, PARTS, PIECES, scores
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from directory_indexer.embedding.embedded import UNKNOWN_TOKEN, Vocabulary, split_into_windows

KNOWN = st.text(st.sampled_from("".join((*LETTERS, *PARTS)) + " \t\n"), max_size=60)
ASCII = st.text(string.printable + "\0\x7f", max_size=100)
ANY = st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=100)
STRANGE = st.text(
    st.sampled_from("aB1_.\u0301\u0e33\u3042\uac00\u1100\u200d\ufeff\x85\u2028\xa0漢。é€\U0001f600ﬁ\uff21 ﷺ")
)
MORE_THAN_ALL = 1_000_000

VOCABULARY = Vocabulary(PIECES, scores())


@cache
def tokenizer() -> Tokenizer:
    # The marks of the model are out of the way, as they are in a text that speaks of them.
    pieces = [(f"\0{piece}" if piece in {*MARKS, "<mask>"} else piece) for piece in PIECES]
    tokenizer = Tokenizer(models.Unigram(list(zip(pieces, scores(), strict=True)), UNKNOWN_TOKEN, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Nmt()])
    parts = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts)
    return tokenizer


def ids_of(text: str) -> list[int]:
    return VOCABULARY.token_ids(text, limit=MORE_THAN_ALL)


@given(st.one_of(KNOWN, ASCII, ANY, STRANGE))
@example("")
@example("the harbouring of 漢字漢字 and <s> </s> <mask> <unk>")
@example("☃☃ ☃a☃☃a")
@example("er" * 200)
def test_the_pieces_are_the_tokenizers(text: str) -> None:
    # The library and Python may know Unicode of different years.
    assume(normalizers.NFKC().normalize_str(text) == unicodedata.normalize("NFKC", text))

    assert ids_of(text) == tokenizer().encode(text, add_special_tokens=False).ids


@given(st.text(st.characters(), max_size=50))
def test_lone_surrogates_are_question_marks(text: str) -> None:
    assert ids_of(text) == ids_of(text.encode("utf-8", "replace").decode("utf-8"))


@given(st.one_of(KNOWN, ASCII, STRANGE), st.integers(min_value=0, max_value=20))
def test_the_first_pieces_are_those_of_the_whole_text(text: str, limit: int) -> None:
    assert VOCABULARY.token_ids(text, limit=limit) == ids_of(text[: limit * 16])[:limit]


@given(st.lists(st.integers(10, 20), max_size=60), st.lists(st.integers(30, 40), max_size=3), st.integers(5, 20))
def test_windows_hold_all_ids_once_behind_the_prefix_and_fit(ids: list[int], prefix: list[int], size: int) -> None:
    parts = split_into_windows(ids, prefix=prefix, size=size)

    assert all(len(part) <= size + 2 and (part[0], part[-1]) == (0, 2) for part in parts)
    assert all(part[1 : 1 + len(prefix)] == prefix for part in parts)
    assert [id_ for part in parts for id_ in part[1 + len(prefix) : -1]] == ids
    assert len(parts) == max(1, -(-len(ids) // (size - len(prefix))))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
