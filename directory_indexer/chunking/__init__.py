"""Chunking of a document into passages: along its sections first, then within their text.

A section that fills half a chunk is a chunk of its own, and so is one marked as separate; smaller neighbours share one.
An edit therefore moves only nearby cuts, and no other definition or chapter. Chunks cover the document: each begins
where the previous one ends, or earlier by the overlap, and blank text belongs to the preceding chunk (at the beginning,
to the first).

A document of nothing but white space has no chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.chunking.chunks import Chunk
    from directory_indexer.chunking.splitting import cut_document
    from directory_indexer.formats.document import Document


CHUNKER_VERSION: Final = 3
"""Incremented when the same document yields other chunks."""


LineWeights: TypeAlias = Callable[[Sequence[str]], Iterable[int]]
"""A function that weighs each of many lines: the tokens of a range of lines are the sum of their weights divided by
`TOKEN_WEIGHT`, rounded up."""

TOKEN_WEIGHT: Final = 3
"""The weight of a token: English has 3.1 letters per token, white space included."""


class ChunkPolicy(NamedTuple):
    """Maximum length of a chunk in tokens, including its heading and the start and end tokens.

    `overlap` is what the pieces of one long section share, at most a quarter of `size`.
    """

    size: int = 256
    overlap: int = 0


def chunk(
    document: Document,
    *,
    policy: ChunkPolicy,
    count_tokens: Callable[[str], int],
    weigh_lines: LineWeights | None = None,
) -> tuple[Chunk, ...]:
    """Split a document into chunks that have, with their headings, at most `policy.size` tokens.

    `count_tokens` must return for a text the sum over its lines, unless `weigh_lines` counts the lines.
    """
    # Imported lazily: its patterns take 10 ms to compile, which a process that only delegates to workers saves.

    return cut_document(document, policy, count_tokens, weigh_lines)
