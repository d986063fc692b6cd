"""What turns the bytes of a file into a document, by kind of file."""

from __future__ import annotations

from typing import Final

EXTRACTOR_VERSION: Final = 2
"""Changes whenever files of all kinds would give other documents; where only some would, `Format.version` does."""
