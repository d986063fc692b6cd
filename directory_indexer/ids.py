"""Ids and hashes: derived from what they stand for, never drawn."""

from typing import NewType

import blake3

from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath

with lazily:
    from hashlib import sha1


ContentHash = NewType("ContentHash", bytes)
"""The first 16 bytes of the blake3 hash of a file's bytes or of a chunk's embedded text."""


ChunkId = NewType("ChunkId", str)
"""The UUIDv5 of a chunk's path, content hash and ordinal: also its Qdrant point id."""


_CHUNK_NAMESPACE = bytes.fromhex("8b0f6c1e5d0a5f3e9f642f6d0c6b7a11")


def content_hash(content: bytes) -> ContentHash:
    """Hash bytes with blake3; 16 bytes make an accidental collision impossible at any size of index."""
    return ContentHash(blake3.blake3(content).digest(length=16))


def new_chunk_id(path: FilePath, of_content: ContentHash, ordinal: int) -> bytes:
    """Derive the 16 bytes of the id of a chunk, so that writing it twice is writing it once.

    `uuid.uuid5` gives the same in ten times the time.
    """
    # Only a run that reads needs it, and it takes 3 ms to import.

    name = f"{path}\0{of_content.hex()}\0{ordinal}".encode()
    number = bytearray(sha1(_CHUNK_NAMESPACE + name, usedforsecurity=False).digest()[:16])
    number[6] = number[6] & 0x0F | 0x50
    number[8] = number[8] & 0x3F | 0x80
    return bytes(number)


def chunk_id_bytes(of: ChunkId | str) -> bytes:
    """Give the 16 bytes of a chunk's id. A search turns hundreds of ids over, for which `uuid.UUID` is slow."""
    return bytes.fromhex(of.replace("-", ""))


def chunk_id_from_bytes(raw: bytes) -> ChunkId:
    """Write the id of a chunk as UUIDs are written."""
    digits = raw.hex()
    return ChunkId(f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")
