"""The records that flow through dirindex, from a file on disk to a hit on a screen.

Only a `FilePath` is stored or compared; it is made by `file_path` and turned back by `os_path`, so that names which
are not valid Unicode survive SQLite, Qdrant and JSON unchanged.
"""

from __future__ import annotations

import os
import re
import uuid
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, NewType

import blake3

FilePath = NewType("FilePath", str)
"""An absolute path as text that any store can hold: bytes that are no UTF-8 are kept as private-use characters."""

ContentHash = NewType("ContentHash", bytes)
"""The first 16 bytes of the blake3 hash of a file's bytes or of a chunk's embedded text."""

ChunkId = NewType("ChunkId", str)
"""The UUIDv5 of a chunk's path, content hash and ordinal: also its Qdrant point id."""

_CHUNK_NAMESPACE = uuid.UUID("8b0f6c1e-5d0a-5f3e-9f64-2f6d0c6b7a11")
_SURROGATES = re.compile("[\ud800-\udfff]")
_STAND_INS = re.compile("[\U0010d800-\U0010dfff]")
_STAND_IN_OFFSET = 0x100000


def file_path(path: str | os.PathLike[str]) -> FilePath:
    """Make the storable form of a path that is already absolute and resolved."""
    return FilePath(_SURROGATES.sub(lambda found: chr(ord(found[0]) + _STAND_IN_OFFSET), os.fspath(path)))


def os_path(path: FilePath) -> str:
    """Turn a stored path back into the one that the operating system knows."""
    return _STAND_INS.sub(lambda found: chr(ord(found[0]) - _STAND_IN_OFFSET), path)


def content_hash(content: bytes) -> ContentHash:
    """Hash bytes with blake3; 16 bytes make an accidental collision impossible at any size of index."""
    return ContentHash(blake3.blake3(content).digest(length=16))


def chunk_id(path: FilePath, of_content: ContentHash, ordinal: int) -> ChunkId:
    """Derive the id of a chunk, so that writing it twice is writing it once."""
    return ChunkId(str(uuid.uuid5(_CHUNK_NAMESPACE, f"{path}\0{of_content.hex()}\0{ordinal}")))


class SkipReason(StrEnum):
    """Why a file that was seen is not indexed although nothing went wrong."""

    BINARY = "binary"
    EMPTY = "empty"
    ENCRYPTED = "encrypted"
    NO_TEXT = "no text"
    NOT_REGULAR = "not a regular file"
    SECRET = "secret"  # noqa: S105 - the name of a reason, not a password
    SYMLINK = "symbolic link"
    TOO_LARGE = "too large"


class Stage(StrEnum):
    """Where in a run a file failed."""

    WALK = "walk"
    READ = "read"
    EXTRACT = "extract"
    EMBED = "embed"


class SourceFile(NamedTuple):
    """A regular file that the walk found and no rule excludes.

    A tuple, because a walk makes one for each of tens of thousands of files.
    """

    path: FilePath
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was seen and left out, with the reason and, where it helps, the rule or number behind it."""

    path: FilePath
    reason: SkipReason
    detail: str = ""
    size: int = 0
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True)
class FileFailure:
    """A file or directory that could not be processed; the next run tries again."""

    path: FilePath
    stage: Stage
    message: str


@dataclass(frozen=True, slots=True)
class Listing:
    """One directory of a walk.

    `failure` is set when the directory could not be read: then nothing below it may be taken for deleted.
    """

    directory: FilePath
    files: tuple[SourceFile, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    n_ignored: int = 0
    failure: FileFailure | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a document that starts at character `start` and ends where the next one starts.

    `headings` is the path of headings or symbols, outermost first; `page` counts from 1.
    """

    start: int
    headings: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """The text of one file as one stream, with the places where headings, symbols and pages begin.

    For formats that are text already, `text` has the very lines of the file; for the others (PDF, notebooks) lines
    are counted in `text`. `sections` is sorted by `start` and its first entry, if any, starts at 0.
    """

    text: str
    kind: str
    title: str = ""
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a document's text: characters `start_char` to `end_char`, lines counted from 1, both inclusive.

    Chunks of a document are sorted, cover all of its text, and overlap only with their neighbours, so the document
    can be put together again from them. `heading` is the heading or symbol path joined by ` > `.
    """

    ordinal: int
    text: str
    n_tokens: int
    start_char: int
    end_char: int
    start_line: int
    end_line: int
    page: int | None = None
    heading: str = ""


def embedding_text(chunk: Chunk) -> str:
    """Give the text that a chunk is embedded as: its place in the document, then its words."""
    return f"{chunk.heading}\n{chunk.text}" if chunk.heading else chunk.text


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file that was read and cut into chunks, as it was at `size`, `mtime_ns` and `hash`."""

    source: SourceFile
    hash: ContentHash
    kind: str
    title: str
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """What makes two vectors comparable: the same provider, model, dimensions and prefixes."""

    provider: str
    model: str
    dimensions: int
    document_prefix: str = ""
    query_prefix: str = ""


class SearchMode(StrEnum):
    """Which lists of results a search draws on."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"


@dataclass(frozen=True, slots=True)
class VectorPoint:
    """One vector with the payload that Qdrant keeps beside it."""

    chunk_id: ChunkId
    file_path: FilePath
    parent_directories: tuple[FilePath, ...]
    vector: bytes = field(repr=False)
    """The float32 values in native byte order."""


@dataclass(frozen=True, slots=True)
class VectorHit:
    """A chunk that the vector store found, with its cosine similarity."""

    chunk_id: ChunkId
    score: float
