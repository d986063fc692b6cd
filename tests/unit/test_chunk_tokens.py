"""Chunks of every script say about as much; those of scripts that the packaged model reads are as it counts them."""

# ruff: noqa: RUF001 - other scripts have letters that look like Latin ones

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.chunking import ChunkPolicy, chunk
from directory_indexer.embedding import wordpiece
from directory_indexer.embedding.wordpiece import count_chunk_tokens
from directory_indexer.formats.document import Document

_LATIN = st.text(st.characters(max_codepoint=0x24F) | st.sampled_from("ạớ—…中文😀"))
_ANY = st.text(
    st.sampled_from("ab éαβжсابก้한국あ中\n.،"),
    max_size=80,
)


@given(_LATIN)
def test_what_the_model_reads_is_counted_as_it_reads_it(text: str) -> None:
    assert count_chunk_tokens(text) == wordpiece.count_tokens(text)


@given(st.sampled_from(["TGF-β1 and α-synuclein", "5 μm, ΔG", "∀x ∈ ℝ"]))
def test_single_letters_of_formulas_change_nothing(text: str) -> None:
    assert count_chunk_tokens(text) == wordpiece.count_tokens(text)


@given(_ANY, _ANY)
def test_a_text_never_counts_for_more_than_its_parts(first: str, second: str) -> None:
    assert count_chunk_tokens(f"{first} {second}") <= count_chunk_tokens(first) + count_chunk_tokens(second)


@pytest.mark.parametrize(
    ("sentence", "least", "most"),
    [
        (
            "Быстрая лисица прыгает через собаку. ",
            600,
            900,
        ),
        (
            "الثعلب السريع يقفز فوق الكلب. ",
            600,
            900,
        ),
        (
            "재빠른 여우가 게으른 개를 뛰어넘는다. ",
            300,
            500,
        ),
        (
            "สุนัขจิ้งจอกกระโดดข้าม ",
            600,
            900,
        ),
        ("敏捷的棕色狐狸跳过了懒狗。", 180, 270),
        ("The quick brown fox jumps over the lazy dog. ", 700, 1200),
    ],
    ids=["Russian", "Arabic", "Korean", "Thai", "Chinese", "English"],
)
def test_a_chunk_holds_as_much_in_every_script(sentence: str, least: int, most: int) -> None:
    document = Document(sentence * 400, "text")
    chunks = chunk(document, policy=ChunkPolicy(), count_tokens=count_chunk_tokens)
    usual = sorted(len(one.text) for one in chunks)[len(chunks) // 2]
    assert least <= usual <= most
