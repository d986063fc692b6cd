"""Phrases of files, in an index in which a short file is one passage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indexes import Index

from directory_indexer.chunking import ChunkPolicy
from directory_indexer.core.paths import file_path
from directory_indexer.ranking.analyzer import phrase_words
from directory_indexer.ranking.word_forms import fts_phrase
from directory_indexer.search.file_texts import read_text

if TYPE_CHECKING:
    from directory_indexer.core.paths import FilePath
    from directory_indexer.parsing.policy import ParsePolicy


class WholeFiles(Index):
    """An index in which a short file is one passage."""

    @property
    def parse_policy(self) -> ParsePolicy:
        return super().parse_policy._replace(chunking=ChunkPolicy(size=512, overlap=8))


def paths_of(index: Index, name: str) -> list[FilePath]:
    with index.docstore.snapshot() as snapshot:
        paths = [path for root in snapshot.directories.all() for path in snapshot.files.records_within(root)]
    whole = str(file_path(str(index.root / name)))
    return [path for path in paths if path == whole or path.startswith(f"{whole}!")]


def has_phrase(index: Index, name: str, phrase: str) -> bool:
    with index.docstore.snapshot() as snapshot:
        chunks = [chunk.chunk_id for path in paths_of(index, name) for chunk in snapshot.chunks.of_file(path)]
        return bool(snapshot.words.matching(fts_phrase(phrase_words(phrase)), chunks))


def text_of(index: Index, name: str) -> str:
    with index.docstore.snapshot() as snapshot:
        return "\n".join(
            read_text(snapshot, path, None).text for path in paths_of(index, name) if snapshot.chunks.has_text(path)
        )
