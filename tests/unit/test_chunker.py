"""Where documents are cut, what a chunk is called, and how little an edit changes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from textwrap import dedent

import pytest

from directory_indexer.chunking import ChunkPolicy, chunk
from directory_indexer.chunking.chunks import Chunk
from directory_indexer.formats.code import extract_code
from directory_indexer.formats.document import Document, Section
from directory_indexer.formats.markup import extract_markdown


def _count_words(text: str) -> int:
    return len(text.split())


def _chunks(document: Document, *, size: int = 256, overlap: int = 0) -> tuple[Chunk, ...]:
    return chunk(document, policy=ChunkPolicy(size, overlap), count_tokens=_count_words)


def _words(n_words: int, word: str = "word") -> str:
    return " ".join(f"{word}{index}" for index in range(n_words))


def _document(*sections: tuple[str, str]) -> Document:
    """Make a document of sections, each given by its path and its text."""
    starts, text = [], ""
    for path, part in sections:
        starts.append(Section(len(text), tuple(path.split(" > ")) if path else ()))
        text += part
    return Document(text, "text", sections=tuple(starts))


def _function(name: str, n_lines: int) -> str:
    return (
        f"def {name}(self):\n"
        + "".join(f"    {name}_{index} = compute({index})\n" for index in range(n_lines))
        + "\n\n"
    )


def test_a_short_document_is_one_chunk() -> None:
    (only,) = _chunks(Document("one\ntwo\n", "text"))
    assert only == Chunk(0, "one\ntwo\n", n_tokens=2, start_char=0, end_char=8, start_line=1, end_line=2)


@pytest.mark.parametrize("text", ["", "\n", " \t\n\n  "])
def test_a_document_without_text_has_no_chunks(text: str) -> None:
    assert _chunks(Document(text, "text", sections=(Section(0, ("A",)),))) == ()


def test_a_section_of_half_a_chunk_stands_alone() -> None:
    document = _document(("a", _words(8) + "\n"), ("b", _words(20) + "\n"), ("c", _words(8) + "\n"))
    assert [each.heading for each in _chunks(document, size=32)] == ["a", "b", "c"]


def test_small_neighbours_share_a_chunk_that_names_them() -> None:
    document = _document(("Store > open", _words(6) + "\n"), ("Store > close", _words(6) + "\n"))
    assert [each.heading for each in _chunks(document, size=40)] == ["Store > open, close"]


def test_what_surrounds_a_definition_does_not_add_to_its_name() -> None:
    document = _document(("Store", "class Store:\n"), ("Store > open", _words(6) + "\n"), ("Store", "size = 1\n"))
    assert [each.heading for each in _chunks(document, size=40)] == ["Store > open"]


def test_a_scrap_goes_with_what_follows_it() -> None:
    document = _document(("Store", "class Store:\n"), ("Store > open", _words(20) + "\n"))
    (only,) = _chunks(document, size=40)
    assert only.heading == "Store > open"
    assert only.text.startswith("class Store:\nword0 ")


def test_a_scrap_at_the_end_goes_with_what_precedes_it() -> None:
    document = _document(("f", _words(20) + "\n"), ("", "main()\n"))
    (only,) = _chunks(document, size=40)
    assert only.heading == "f"
    assert only.text.endswith("main()\n")


def test_a_run_of_small_sections_is_cut_between_chapters() -> None:
    parts = [(f"{chapter} > {name}", _words(5) + "\n") for chapter in "AB" for name in "xyz"]
    assert [each.heading for each in _chunks(_document(*parts), size=36)] == ["A > x, y, z", "B > x, y, z"]


def test_blank_text_goes_with_what_precedes_it_and_at_the_start_with_what_follows() -> None:
    document = _document(("", "\n\n"), ("a", _words(20) + "\n\n \n"), ("b", "\n\n"), ("c", _words(20)))
    assert [each.text for each in _chunks(document, size=32)] == [
        f"\n\n{_words(20)}\n\n \n\n\n",
        _words(20),
    ]


def test_the_indentation_before_a_section_goes_with_the_line_above_it() -> None:
    text = _words(20) + "\n" + _words(20) + "\n    "
    document = Document(text + _words(20), "text", sections=(Section(0, ("a",)), Section(len(text), ("b",))))
    assert [each.text for each in _chunks(document, size=32)] == [
        _words(20) + "\n",
        _words(20) + "\n    ",
        _words(20),
    ]


def test_prose_is_cut_between_paragraphs() -> None:
    paragraphs = [_words(12, f"p{index}") + "\n\n" for index in range(9)]
    chunks = _chunks(Document("".join(paragraphs), "text"), size=32)
    assert len(chunks) > 3
    assert all(each.text.endswith("\n\n") for each in chunks)


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = " ".join(f"This is sentence number {index} of many." for index in range(30))
    chunks = _chunks(Document(text, "text"), size=40)
    assert len(chunks) > 3
    assert all(each.text.startswith("This") for each in chunks)


def test_a_long_sentence_is_cut_between_words() -> None:
    text = _words(300)
    chunks = _chunks(Document(text, "text"), size=40)
    assert [word for each in chunks for word in each.text.split()] == text.split()


def test_the_white_space_behind_a_stop_goes_with_its_sentence() -> None:
    text = "\u4e2d" * 60 + "\u3002 \n" + "\u6587" * 60
    chunks = chunk(Document(text, "text"), policy=ChunkPolicy(64), count_tokens=lambda part: len("".join(part.split())))
    assert [each.text for each in chunks] == [text[:63], text[63:]]


def test_a_word_longer_than_a_chunk_is_cut_between_characters() -> None:
    text = "x" * 100_000
    chunks = chunk(Document(text, "text"), policy=ChunkPolicy(64), count_tokens=len)
    assert max(each.n_tokens for each in chunks) <= 62
    assert "".join(each.text for each in chunks) == text


def test_a_megabyte_that_is_one_token_is_not_one_chunk() -> None:
    chunks = _chunks(Document("x" * 1_000_000, "text"))
    assert max(len(each.text) for each in chunks) <= 16 * 256


def test_a_letter_is_not_cut_from_its_accent() -> None:
    chunks = chunk(Document("e\u0301" * 500, "text"), policy=ChunkPolicy(17), count_tokens=len)
    assert len(chunks) > 60
    assert all(each.text.startswith("e") for each in chunks)


def test_code_is_cut_between_blocks() -> None:
    block = "    for item in items:\n        one(item)\n        two(item)\n        three(item)\n\n"
    chunks = _chunks(Document("def f():\n" + block * 20, "text"), size=40)
    assert len(chunks) > 3
    assert all(each.text.startswith("    for") for each in chunks[1:])


def test_code_is_not_cut_before_what_closes_a_block() -> None:
    block = "    if (a b c d e) {\n        f g h i j;\n    } else {\n        k l m n o;\n    }\n"
    chunks = _chunks(Document("void f() {\n" + block * 40, "text"), size=40)
    assert len(chunks) > 20
    assert not any(each.text.lstrip().startswith("}") for each in chunks)


def test_shared_text_counts_towards_the_size() -> None:
    text = "".join(f"{_words(6, f'l{index}')}\n" for index in range(100))
    assert max(each.n_tokens for each in _chunks(Document(text, "text"), size=42, overlap=10)) <= 40


def test_a_line_that_looks_like_a_heading_stays_with_the_text_below_it() -> None:
    parts = "".join(f"About number {index}\n{_words(14)} end.\n" for index in range(40))
    chunks = _chunks(Document(parts, "text"), size=42)
    assert len(chunks) > 12
    assert all(each.text.startswith("About") for each in chunks)


def test_the_last_two_pieces_are_of_about_the_same_size() -> None:
    text = "".join(f"{_words(4)}\n" for _ in range(11))
    one, other = _chunks(Document(text, "text"), size=42)
    assert abs(one.n_tokens - other.n_tokens) <= 16


def test_pieces_of_one_section_overlap_by_whole_lines() -> None:
    text = "".join(f"{_words(4, f'l{index}')}\n" for index in range(40))
    chunks = _chunks(Document(text, "text"), size=42, overlap=8)
    assert len(chunks) > 3
    for one, other in pairwise(chunks):
        shared = text[other.start_char : one.end_char]
        assert len(shared.splitlines()) == 2
        assert other.text.startswith(shared)


def test_pieces_of_a_long_line_overlap_by_whole_sentences() -> None:
    text = " ".join(f"This is sentence number {index} of many." for index in range(30))
    chunks = _chunks(Document(text, "text"), size=60, overlap=10)
    assert len(chunks) > 3
    for one, other in pairwise(chunks):
        assert text[other.start_char : one.end_char].startswith("This is sentence")


def test_definitions_never_overlap() -> None:
    document = _document(*((f"f{index}", _words(20) + "\n") for index in range(9)))
    chunks = _chunks(document, size=32, overlap=8)
    assert len(chunks) == 9
    assert all(one.end_char == other.start_char for one, other in pairwise(chunks))


def test_a_page_break_is_no_cut() -> None:
    document = Document(_words(40), "pdf", sections=(Section(0, page=1), Section(100, page=2)))
    (only,) = _chunks(document)
    assert only.page == 1


def test_a_chunk_has_the_page_that_its_first_word_stands_on() -> None:
    text = _words(30) + "\n\n" + _words(30, "next")
    middle = text.index("next0")
    document = Document(text, "pdf", sections=(Section(0, page=1), Section(middle - 1, page=2)))
    assert [each.page for each in _chunks(document, size=34)] == [1, 2]


def test_the_heading_counts_towards_the_size() -> None:
    chunks = _chunks(_document(("one two three four", _words(200))), size=32)
    assert len(chunks) > 6
    for each in chunks:
        assert each.heading == "one two three four"
        assert each.n_tokens == _count_words(each.heading) + _count_words(each.text) <= 30


def test_a_long_path_keeps_its_innermost_name_and_leaves_three_quarters_to_the_text() -> None:
    document = _document((_words(50, "outer") + " > " + _words(50, "inner"), _words(300)))
    chunks = _chunks(document, size=40)
    assert all(each.heading.startswith("inner0 ") for each in chunks)
    assert 1 < len(chunks) <= 300 // (40 * 3 // 4 // 2)


def test_a_counter_of_another_model_is_used_as_it_is() -> None:
    chunks = chunk(Document(_words(500), "text"), policy=ChunkPolicy(64), count_tokens=len)
    assert len(chunks) > 20
    assert all(each.n_tokens <= 62 and len(each.text) <= 62 for each in chunks)


def _long_module() -> str:
    """Write some 2,000 lines of Python: classes and functions of all sizes."""
    parts = ["import os\nimport sys\n\n\n"]
    for index in range(24):
        parts.append(f"class Store{index}:\n" + '    """Holds files."""\n\n')
        sizes = [3 + (7 * index + 5 * method) % 23 for method in range(6)]
        for method, size in enumerate(sizes):
            body = "".join(f"        item_{index}_{method}_{line} = compute({line})\n" for line in range(size))
            parts.append(f"    def method_{index}_{method}(self):\n{body}\n")
        parts.append(f"\ndef helper_{index}():\n    return {index}\n\n\n")
    return "".join(parts)


def test_a_line_inserted_into_a_function_changes_two_chunks_at_most() -> None:
    lines = _long_module().splitlines(keepends=True)
    assert len(lines) > 2000
    before = Counter((each.heading, each.text) for each in _chunks(extract_code("".join(lines), "python"), size=64))
    places = [index for index, line in enumerate(lines) if line.startswith("        item_")]
    for place in places[::37]:
        edited = "".join([*lines[:place], "        inserted = 1\n", *lines[place:]])
        after = Counter((each.heading, each.text) for each in _chunks(extract_code(edited, "python"), size=64))
        assert 1 <= (after - before).total() <= 2


def test_a_paragraph_inserted_into_a_long_text_leaves_the_rest_as_it_was() -> None:
    paragraphs = [_words(9 + index % 5, f"p{index}x") + ".\n\n" for index in range(400)]
    before = {each.text for each in _chunks(Document("".join(paragraphs), "text"), size=64)}
    edited = "".join([*paragraphs[:20], _words(9) + ".\n\n", *paragraphs[20:]])
    after = {each.text for each in _chunks(Document(edited, "text"), size=64)}
    assert len(before) > 80
    assert len(after - before) < 12


def test_a_chapter_knows_the_chapters_around_it() -> None:
    source = f"""\
    # Guide

    {_words(20)}

    ## Install

    {_words(20)}

    ## Use

    {_words(20)}
    """
    chunks = _chunks(extract_markdown(dedent(source), "markdown"), size=40)
    assert [each.heading for each in chunks] == ["Guide", "Guide > Install", "Guide > Use"]
    assert [each.text.split("\n")[0] for each in chunks] == ["# Guide", "## Install", "## Use"]


@pytest.mark.parametrize(
    "text",
    ["x" * 300_000, ". " * 100_000, "a" + "\n" * 500_000 + "b", "a" + " " * 500_000 + "b", "}\n" * 50_000],
    ids=["one word", "stops", "blank lines", "spaces", "brackets"],
)
def test_hostile_text_is_put_together_again(text: str) -> None:
    assert "".join(each.text for each in _chunks(Document(text, "text"))) == text
