"""File formats: from the bytes of a file to a document."""

from __future__ import annotations

from typing import Final

EXTRACTOR_VERSION: Final = 2
"""Raised when the documents of all formats change; where only some do, `Format.version` is raised."""
