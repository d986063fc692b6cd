"""Cuts a document into the passages that are searched: along its sections first, then as its text allows.

A section that fills half a chunk stands alone, and so does one that is set apart; smaller neighbours share one. So an
edit moves the cuts around it, and those of no other definition or chapter. Chunks rebuild the document: each begins
where the one before it ends, or before that by the overlap, and blank text belongs to the chunk that it follows (what
precedes all text, to the first).
A document of nothing but white space has no chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.chunker.chunking import cut_document
    from directory_indexer.chunker.chunks import Chunk
    from directory_indexer.extractors.document import Document


CHUNKER_VERSION: Final = 3
"""Counts the changes that make other chunks of the same document."""


class ChunkPolicy(NamedTuple):
    """How long a chunk may be, in tokens of all that the model reads: heading, text, and the two marks around them.

    `overlap` is what the pieces of one long section share; it is cut to a quarter of `size`.
    """

    size: int = 256
    overlap: int = 0


def chunk(document: Document, *, policy: ChunkPolicy, count_tokens: Callable[[str], int]) -> tuple[Chunk, ...]:
    """Cut a document into chunks that have, with their headings, at most `policy.size` tokens.

    `count_tokens` must not find more tokens in a text than in the parts that it has when it is cut at white space.
    """
    # Its patterns take 10 ms to compile, which a process that hands files to others does without.

    return cut_document(document, policy, count_tokens)
