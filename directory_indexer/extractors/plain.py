"""Plain text: kinds without a structure that can be found cheaply.

XML is one of them: in project files and settings the names of tags and attributes are what people look for. Data that
is embedded in a text (Base64, data URIs) stays too, for without it the lines would not be those of the file.
"""

from __future__ import annotations

from directory_indexer.extractors.document import Document


def extract_plain(text: str, kind: str) -> Document:
    """Return the text as it is."""
    return Document(text, kind)
