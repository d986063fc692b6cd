"""Printed tables whose columns have names: every passage of a long one says them, and no row is cut in two."""

from __future__ import annotations

import io
import re

import pymupdf
import pytest

from directory_indexer.chunking import ChunkPolicy, chunk
from directory_indexer.chunking.chunks import Chunk
from directory_indexer.embedding.wordpiece import count_chunk_tokens
from directory_indexer.formats.document import Document
from directory_indexer.formats.pdf.reader import extract_pdf

_CAPTION = "Table 4: Valves and their keepers"
_NAMES = "Name Purpose Pressure Keeper"
_BEFORE = "The valves of the plant are listed here. Each has somebody who looks after it."
_AFTER = "No other valve may be opened by anybody, whatever the pressure is, but by those who are named above."


def printed(html: str) -> Document:
    """Lay a page of HTML out as a word processor would."""
    content = io.BytesIO()
    writer, story, is_more = pymupdf.DocumentWriter(content), pymupdf.Story(html), True
    while is_more:
        page = writer.begin_page(pymupdf.Rect(0, 0, 595, 842))
        is_more, _ = story.place(pymupdf.Rect(50, 50, 545, 792))
        story.draw(page)
        writer.end_page()
    writer.close()
    return extract_pdf(content.getvalue())


def valves(purpose: str, *, cell: str = "th", n_rows: int = 60) -> str:
    names = "".join(f"<{cell}>{name}</{cell}>" for name in _NAMES.split())
    rows = "".join(
        f"<tr><td>Valve {number}</td><td>{purpose} {number}</td><td>{number % 9} bar</td><td>Ann Smith</td></tr>"
        for number in range(1, n_rows)
    )
    table = f"<table border=1><tr>{names}</tr>{rows}</table>"
    return f"<h1>Plant</h1><p>{_BEFORE}</p><p><b>{_CAPTION}</b></p>{table}<p>{_AFTER}</p>"


def chunks_of(document: Document) -> tuple[Chunk, ...]:
    return chunk(document, policy=ChunkPolicy(), count_tokens=count_chunk_tokens)


@pytest.mark.parametrize("cell", ["th", "td"], ids=["bold names", "plain names"])
@pytest.mark.parametrize(
    "purpose", ["Feeds boiler", "Opens when the pressure in the hall falls below its limit, for boiler"]
)
def test_every_passage_of_a_long_table_names_its_columns_and_begins_with_a_row(purpose: str, cell: str) -> None:
    chunks = [item for item in chunks_of(printed(valves(purpose, cell=cell))) if re.search(r"\d bar", item.text)]
    assert len(chunks) > 2
    assert {item.page for item in chunks} >= {1, 2}
    for item in chunks:
        assert item.heading.startswith(_CAPTION)
        assert _NAMES in f"{item.heading} {item.text}"
        assert item.text.lstrip().startswith(("Valve", "Plant", _NAMES))


def test_what_stands_behind_a_table_is_not_below_its_names() -> None:
    sections = printed(valves("Feeds boiler", n_rows=12)).sections
    assert any(_NAMES in " ".join(item.headings) for item in sections)
    assert _NAMES not in " ".join(sections[-1].headings)


def test_a_short_table_and_a_list_of_words_have_no_names_above_them() -> None:
    assert not any(_NAMES in " ".join(item.headings) for item in printed(valves("Feeds", cell="td", n_rows=3)).sections)
    prose = f"<p>{_AFTER}</p>" * 30
    assert not any(item.headings for item in printed(f"<p>{_BEFORE}</p>{prose}").sections)
