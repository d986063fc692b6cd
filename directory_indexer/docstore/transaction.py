"""An atomic batch of writes to the index.

The invariant it guards: a chunk, its text and its full-text row are inserted and deleted together, and a vector whose
chunk is deleted is recorded as stale, with the hash of its text, until the vector store has dropped it.
"""

from __future__ import annotations

import sqlite3

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.docstore.arrivals import ArrivalWrites
    from directory_indexer.docstore.chunks import ChunkWrites
    from directory_indexer.docstore.directories import DirectoryWrites
    from directory_indexer.docstore.file_rows import FileRows
    from directory_indexer.docstore.file_writes import FileWrites
    from directory_indexer.docstore.meta import MetaWrites
    from directory_indexer.docstore.metadata import MetadataWrites
    from directory_indexer.docstore.pauses import PauseWrites
    from directory_indexer.docstore.runs import RunWrites
    from directory_indexer.docstore.scans import ScanWrites
    from directory_indexer.docstore.search_vectors import SearchVectorWrites
    from directory_indexer.docstore.shared_texts import SharedTextWrites
    from directory_indexer.docstore.static_vectors import StaticVectorWrites
    from directory_indexer.docstore.vector_sets import VectorSetWrites
    from directory_indexer.docstore.vectors import VectorWrites
    from directory_indexer.docstore.words import WordWrites


class Transaction:
    """A batch of writes, by table; see the invariant of the module."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.meta = MetaWrites(connection)
        self.directories = DirectoryWrites(connection)
        self.words = WordWrites(connection)
        self.shared_texts = SharedTextWrites(connection)
        self.chunks = ChunkWrites(connection, self.words, self.meta, self.shared_texts)
        self.scans = ScanWrites(connection)
        self.file_rows = FileRows(connection)
        metadata = MetadataWrites(connection)
        of_files = (self.file_rows, self.directories, self.chunks, self.shared_texts)
        self.files = FileWrites(*of_files, metadata=metadata, scans=self.scans)
        self.arrivals = ArrivalWrites(*of_files, metadata=metadata, scans=self.scans)
        self.vectors = VectorWrites(connection, self.meta)
        self.static_vectors = StaticVectorWrites(connection)
        self.search_vectors = SearchVectorWrites(connection)
        self.vector_sets = VectorSetWrites(connection, self.meta, self.vectors)
        self.runs = RunWrites(connection)
        self.pauses = PauseWrites(connection)
