"""What turns the bytes of a file into a document, by kind of file."""

from __future__ import annotations

from typing import Final

EXTRACTOR_VERSION: Final = 1
"""Changes whenever files would give other documents: they must then be read again."""
