"""Ids and hashes, derived from what they identify, never random."""

import base64
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NewType

import blake3

from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath

with lazily:
    from hashlib import sha1


ContentHash = NewType("ContentHash", bytes)
"""The first 16 bytes of the blake3 hash of a file's bytes or of a chunk's embedded text."""


DocId = NewType("DocId", str)
"""The id of a document, 24 letters and digits; made by `doc_id`, or derived."""


ChunkId = NewType("ChunkId", bytes)
"""The 16 bytes of the UUIDv5 of a chunk's path, content hash and ordinal; `uuid_text` formats it for people and Qdrant.
"""


_DOC_ID = re.compile(r"[a-z2-7]{24}")
_PIECE_BYTES = 1 << 24
_CHUNK_NAMESPACE = bytes.fromhex("8b0f6c1e5d0a5f3e9f642f6d0c6b7a11")


def content_hash(content: bytes) -> ContentHash:
    """Hash bytes with blake3; 16 bytes make an accidental collision impossible at any size of index."""
    return ContentHash(blake3.blake3(content).digest(length=16))


def hashes_of(file: BinaryIO) -> Iterator[ContentHash]:
    """Read a file, and yield the hash of the content so far after each piece; the last is that of the file."""
    hasher = blake3.blake3()
    while piece := file.read(_PIECE_BYTES):
        hasher.update(piece)
        yield ContentHash(hasher.digest(length=16))


def hash_of(file: BinaryIO) -> ContentHash:
    """Return the hash of the rest of a file, as `content_hash` does."""
    *_, of_all = (content_hash(b""), *hashes_of(file))
    return of_all


def doc_id(text: str) -> DocId | None:
    """Parse the id of a document; None if it is invalid."""
    return DocId(text) if _DOC_ID.fullmatch(text) else None


def document_id(path: FilePath) -> str:
    """Return the id of an indexed file for programs: the first 15 bytes of the hash of its path, in base 32."""
    digest = blake3.blake3(path.encode("utf-8", "surrogatepass")).digest(length=15)
    return base64.b32encode(digest).decode().lower()


def new_chunk_id(path: FilePath, of_content: ContentHash, ordinal: int, nth: int = 0) -> ChunkId:
    """Return the id of a chunk, so that writing it twice is idempotent.

    `nth` distinguishes it from equal ids that other files have taken over. `uuid.uuid5` returns the same in ten times
    the time.
    """
    return next(new_chunk_ids(path, of_content, (ordinal,), nth))


def new_chunk_ids(path: FilePath, of_content: ContentHash, ordinals: Iterable[int], nth: int = 0) -> Iterator[ChunkId]:
    """Yield the id of each chunk of a file; what their names begin with is hashed once."""
    beginning = sha1(_CHUNK_NAMESPACE + f"{path}\0{of_content.hex()}\0".encode(), usedforsecurity=False)
    end = f"\0{nth}" if nth else ""
    for ordinal in ordinals:
        name = beginning.copy()
        name.update(f"{ordinal}{end}".encode())
        number = bytearray(name.digest()[:16])
        number[6] = number[6] & 0x0F | 0x50
        number[8] = number[8] & 0x3F | 0x80
        yield ChunkId(bytes(number))


def uuid_text(of: ChunkId) -> str:
    """Format the id of a chunk as a UUID, in a third of the time that `uuid.UUID` takes."""
    digits = of.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def chunk_id_of(text: str) -> ChunkId:
    """Parse the id of a chunk in the format of `uuid_text`."""
    return ChunkId(bytes.fromhex(text.replace("-", "")))
