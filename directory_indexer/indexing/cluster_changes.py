"""What an index has otherwise than its cluster index; everything here is pure."""

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
    """A file that the index has otherwise than the cluster index; one of them is None where the file is not there."""

    path: FilePath
    file: ClusterFile | None
    n_vectors: int
    known: Published | None

    @property
    def has_new_text(self) -> bool:
        """Tell that its passages are to be written."""
        return self.file is not None and (self.known is None or self.known.revision != self.file.revision)

    @property
    def has_new_vectors(self) -> bool:
        """Tell that passages which are there have vectors now."""
        known = self.known
        return (
            not self.has_new_text and known is not None and self.file is not None and self.n_vectors > known.n_vectors
        )

    @property
    def is_new_row(self) -> bool:
        """Tell that the catalogue says something else of it."""
        return self.file is not None and (self.known is None or self.known.digest != digest_of(self.file))

    @property
    def is_gone(self) -> bool:
        """Tell that it is to leave."""
        return self.file is None


def digest_of(file: ClusterFile) -> str:
    """Give what changes whenever the catalogue is to say something else of a file."""
    return content_hash(repr(file).encode("utf-8", "surrogatepass")).hex()


def compared(rows: Iterator[tuple[ClusterFile, int]], known: Iterator[Published]) -> Iterator[Change]:
    """Go through both in the order of their paths."""
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


def changed_words(now: Iterator[WordCount], known: Iterator[WordCount]) -> Iterator[WordCount]:
    """Go through both in the order of the words."""
    word, other = next(now, None), next(known, None)
    while word is not None or other is not None:
        if other is None or (word is not None and word.word < other.word):
            assert word is not None  # noqa: S101 - one of the two is there
            yield word
            word = next(now, None)
        elif word is None or other.word < word.word:
            yield WordCount(other.word, 0)
            other = next(known, None)
        else:
            if word != other:
                yield word
            word, other = next(now, None), next(known, None)


def in_batches(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Cut changes into what is published at a time."""
    batch: list[Change] = []
    n_passages = 0
    for one in changes:
        batch.append(one)
        n_passages += one.file.n_passages if one.file and (one.has_new_text or one.has_new_vectors) else 0
        if n_passages >= _BATCH_PASSAGES or len(batch) >= _BATCH_FILES:
            yield batch
            batch, n_passages = [], 0
    if batch:
        yield batch


def cut(words: Iterable[WordCount]) -> Iterator[list[WordCount]]:
    """Cut words into what is written at a time."""
    batch: list[WordCount] = []
    for one in words:
        batch.append(one)
        if len(batch) == _BATCH_WORDS:
            yield batch
            batch = []
    if batch:
        yield batch
