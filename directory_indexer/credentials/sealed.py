"""Encrypted values in Kubernetes `SealedSecret` manifests, which are public: they need the cluster's key."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.spans import SecretSpan

SEALED_MARKS: Final = ("encrypteddata",)


def sealed_blocks(text: str, marks: frozenset[str]) -> list[tuple[int, int]]:
    """Return the spans of the encrypted values of sealed secrets, in order."""
    if marks.isdisjoint(SEALED_MARKS) or not _SEALED.search(text):
        return []
    return [match.span() for match in _BLOCK.finditer(text)]


def is_sealed(text: str, span: SecretSpan, blocks: Sequence[tuple[int, int]]) -> bool:
    """Whether a value is inside such a block, and as long as a sealed value."""
    at = bisect_right(blocks, (span.start, len(text))) - 1
    return at >= 0 and span.end <= blocks[at][1] and _VALUE.fullmatch(text, span.start, span.end) is not None


_SEALED: Final = LazyPattern(r"kind[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?SealedSecret\b")
_BLOCK: Final = LazyPattern(
    r"encryptedData[\"']?[ \t]{0,4}:[ \t]{0,4}(?:\{[^{}]{0,200000}+\}|\r?\n(?:[ \t]++[^\n]*+\n?)++)"
)
_VALUE: Final = LazyPattern(r"[A-Za-z0-9+/]{120,100000}+={0,2}")
