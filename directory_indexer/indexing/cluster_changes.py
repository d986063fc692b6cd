"""Differences between an index and its cluster index; all functions are pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from directory_indexer.docstore.cluster_ledger import Published
from directory_indexer.ids import content_hash
from directory_indexer.paths import FilePath
from directory_indexer.vectorstore.cluster import ClusterFile, WordCount

_BATCH_PASSAGES: Final = 2000
_BATCH_FILES: Final = 1000
_BATCH_WORDS: Final = 5000


class Change(NamedTuple):
    """A file that differs between the index and the cluster index; `file` or `known` is None if it is missing there."""

    path: FilePath
    file: ClusterFile | None
    n_vectors: int
    known: Published | None

    @property
    def has_new_text(self) -> bool:
        """Whether its passages must be written."""
        return self.file is not None and (self.known is None or self.known.revision != self.file.revision)

    @property
    def has_new_vectors(self) -> bool:
        """Whether existing passages have got vectors."""
        known = self.known
        return (
            not self.has_new_text and known is not None and self.file is not None and self.n_vectors > known.n_vectors
        )

    @property
    def is_new_row(self) -> bool:
        """Whether its record in the catalogue must be written."""
        return self.file is not None and (self.known is None or self.known.digest != digest_of(self.file))

    @property
    def is_gone(self) -> bool:
        """Whether it must be removed."""
        return self.file is None


def digest_of(file: ClusterFile) -> str:
    """Return a digest of the catalogue record of a file."""
    return content_hash(repr(file).encode("utf-8", "surrogatepass")).hex()


def compared(rows: Iterator[tuple[ClusterFile, int]], known: Iterator[Published]) -> Iterator[Change]:
    """Yield the differences of two sequences sorted by path."""
    row, other = next(rows, None), next(known, None)
    while row is not None or other is not None:
        if other is None or (row is not None and row[0].path < other.path):
            assert row is not None  # noqa: S101 - one of the two is there
            yield Change(row[0].path, *row, None)
            row = next(rows, None)
        elif row is None or other.path < row[0].path:
            yield Change(other.path, None, 0, other)
            other = next(known, None)
        else:
            yield Change(row[0].path, *row, other)
            row, other = next(rows, None), next(known, None)


def changed_words(current: Iterator[WordCount], known: Iterator[WordCount]) -> Iterator[WordCount]:
    """Yield the differences of two sequences sorted by word."""
    word, other = next(current, None), next(known, None)
    while word is not None or other is not None:
        if other is None or (word is not None and word.word < other.word):
            assert word is not None  # noqa: S101 - one of the two is there
            yield word
            word = next(current, None)
        elif word is None or other.word < word.word:
            yield WordCount(other.word, 0)
            other = next(known, None)
        else:
            if word != other:
                yield word
            word, other = next(current, None), next(known, None)


def in_batches(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Yield changes in lists that are published together."""
    batch: list[Change] = []
    n_passages = 0
    for change in changes:
        batch.append(change)
        n_passages += change.file.n_passages if change.file and (change.has_new_text or change.has_new_vectors) else 0
        if n_passages >= _BATCH_PASSAGES or len(batch) >= _BATCH_FILES:
            yield batch
            batch, n_passages = [], 0
    if batch:
        yield batch


def cut(words: Iterable[WordCount]) -> Iterator[list[WordCount]]:
    """Yield words in lists that are written together."""
    batch: list[WordCount] = []
    for word in words:
        batch.append(word)
        if len(batch) == _BATCH_WORDS:
            yield batch
            batch = []
    if batch:
        yield batch
