"""CSV whose cells no spreadsheet calculates, and from which every text can be had back."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.chunking.chunks import Chunk
from directory_indexer.core.ids import ChunkId, ContentHash
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import FileFacts
from directory_indexer.integrations.exporting.writers import CsvLines, ExportedFile
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.files import IndexedFile

TEXTS = st.text(st.characters(codec="utf-8"))
BEGINNINGS = st.sampled_from(["", "'", "''", "=", "+", "-", "@", "\t", "\r", "\n=", "\uff1d", '"'])


@given(beginning=BEGINNINGS, text=TEXTS)
def test_an_apostrophe_taken_off_gives_the_text_and_no_cell_is_a_formula(beginning: str, text: str) -> None:
    path, facts = file_path("/n/a.txt"), FileFacts("text", text)
    file = IndexedFile(1, 1, path, 1, 0, 0, 0, ContentHash(bytes(16)), facts)
    chunk = IndexedChunk(1, ChunkId(bytes(16)), 1, path, 0, facts, Chunk(0, beginning + text, 1, 0, 1, 1, 1))
    stream = io.StringIO(newline="")
    CsvLines(stream).add(ExportedFile(file, path, [chunk]))
    stream.seek(0)
    (row,) = csv.DictReader(stream)
    assert row["text"].removeprefix("'") == beginning + text
    assert not row["text"].startswith(tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20"))
