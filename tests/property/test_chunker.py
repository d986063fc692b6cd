"""The laws of cutting: chunks rebuild the document, fit their size, and say truly where they stand."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.chunking import ChunkPolicy, chunk
from directory_indexer.chunking.chunks import Chunk
from directory_indexer.embedding.wordpiece import count_chunk_tokens
from directory_indexer.formats.document import Document, Section

_N_MARKS = 2

_prose = st.lists(
    st.sampled_from(
        [
            "word ",
            "Ends here. ",
            "\n",
            "\n\n",
            "    ",
            "- item ",
            "x" * 130,
            "a.b(c,d){e}" * 9,
            "\u4e2d\u6587\u3002",
            "\u0441\u043b\u043e\u0432\u043e ",
            "\ud55c\uad6d\uc5b4 ",
            "\u0e01\u0e49\u0e19\u0e1a\u0e48\u0e2d" * 20,
            "\t}\n",
        ]
    ),
    max_size=60,
).map("".join)
_texts = st.one_of(st.text(max_size=300), _prose, st.tuples(_prose, st.text(max_size=40), _prose).map("".join))
_policies = st.builds(ChunkPolicy, size=st.integers(16, 60), overlap=st.integers(0, 70))


@st.composite
def _documents(draw: st.DrawFn) -> Document:
    text = draw(_texts)
    starts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=8)) | {0}) if text else []
    headings = st.lists(st.sampled_from(["A", "B", "a long name of several words"]), max_size=4).map(tuple)
    page = 0
    sections = []
    for start in starts:
        page += draw(st.integers(0, 1))
        sections.append(Section(start, draw(headings), page or None))
    return Document(text, "text", sections=tuple(sections) if draw(st.booleans()) else ())


def _chunks(document: Document, policy: ChunkPolicy) -> tuple[Chunk, ...]:
    return chunk(document, policy=policy, count_tokens=count_chunk_tokens)


@given(_documents(), _policies)
def test_the_document_can_be_put_together_again(document: Document, policy: ChunkPolicy) -> None:
    chunks = _chunks(document, policy)
    rebuilt, end = "", 0
    for each in chunks:
        rebuilt += each.text[end - each.start_char :]
        end = each.end_char
    assert rebuilt == ("" if document.text.isspace() else document.text)


@given(_documents(), _policies)
def test_a_chunk_is_the_text_that_it_claims_to_be(document: Document, policy: ChunkPolicy) -> None:
    for each in _chunks(document, policy):
        assert each.text == document.text[each.start_char : each.end_char]
        assert not each.text.isspace()


@given(_documents(), _policies)
def test_ordinals_count_from_zero_without_gaps(document: Document, policy: ChunkPolicy) -> None:
    chunks = _chunks(document, policy)
    assert [each.ordinal for each in chunks] == list(range(len(chunks)))


@given(_documents(), _policies)
def test_what_is_embedded_fits_the_size(document: Document, policy: ChunkPolicy) -> None:
    for each in _chunks(document, policy):
        assert each.n_tokens <= policy.size - _N_MARKS
        assert count_chunk_tokens(f"{each.heading}\n{each.text}") <= each.n_tokens


@given(_documents(), _policies)
def test_lines_are_counted_from_one_and_inclusive(document: Document, policy: ChunkPolicy) -> None:
    for each in _chunks(document, policy):
        assert each.start_line == document.text.count("\n", 0, each.start_char) + 1
        assert each.end_line == document.text.count("\n", 0, each.end_char - 1) + 1


@given(_documents(), _policies)
def test_chunks_overlap_with_their_neighbours_alone_and_never_across_sections(
    document: Document, policy: ChunkPolicy
) -> None:
    chunks = _chunks(document, policy)
    for one, other in pairwise(chunks):
        assert one.start_char < other.start_char <= one.end_char < other.end_char
        shared = document.text[other.start_char : one.end_char]
        assert count_chunk_tokens(shared) <= policy.overlap
    for one, other in pairwise(chunks[1:]):
        assert chunks[one.ordinal - 1].end_char <= other.start_char


@given(_documents(), _policies)
def test_the_page_is_that_of_the_first_character_to_be_seen(document: Document, policy: ChunkPolicy) -> None:
    for each in _chunks(document, policy):
        seen = re.compile(r"\S").search(document.text, each.start_char)
        assert seen
        pages = [section.page for section in document.sections if section.start <= seen.start()]
        assert each.page == (pages[-1] if pages else None)
