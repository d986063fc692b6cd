"""Chunks of every script say about as much; those of scripts that the packaged model reads are as it counts them."""

# ruff: noqa: RUF001 - other scripts have letters that look like Latin ones

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.chunking import TOKEN_WEIGHT, ChunkPolicy, chunk
from directory_indexer.embedding import wordpiece
from directory_indexer.embedding.wordpiece import count_chunk_tokens, weigh_lines
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


@given(st.lists(_ANY.filter(lambda line: "\n" not in line), max_size=20))
def test_the_weights_of_lines_add_up_to_the_tokens_of_the_text(lines: list[str]) -> None:
    assert count_chunk_tokens("\n".join(lines)) == -(-sum(weigh_lines(lines)) // TOKEN_WEIGHT)


@given(st.lists(st.sampled_from(["x = f(1)", "\x01", "word " * 90, "x" * 900, "    end", "", " " * 400]), max_size=60))
def test_lines_are_cut_alike_whether_they_are_counted_together_or_each_by_itself(lines: list[str]) -> None:
    document = Document("\n".join(lines), "text")
    one_by_one = chunk(document, policy=ChunkPolicy(16), count_tokens=count_chunk_tokens)
    assert one_by_one == chunk(
        document, policy=ChunkPolicy(16), count_tokens=count_chunk_tokens, weigh_lines=weigh_lines
    )


def test_a_line_of_control_characters_beside_a_long_line_counts_nothing() -> None:
    document = Document("\x01\x02\x03\n" + "word " * 900, "text")
    first, *_ = chunk(document, policy=ChunkPolicy(16), count_tokens=count_chunk_tokens, weigh_lines=weigh_lines)
    assert first.n_tokens == count_chunk_tokens(first.text)


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
