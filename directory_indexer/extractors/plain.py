"""Text that is taken as it is: for kinds without a structure that could be found cheaply."""

from __future__ import annotations

from directory_indexer.records import Document


def extract_plain(text: str, kind: str) -> Document:
    """Take the text as one piece."""
    return Document(text, kind)
