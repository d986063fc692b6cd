"""Opening of files with MuPDF: one at a time, silently, and even if their end is missing."""

from __future__ import annotations

import threading
from typing import Final

import pymupdf
from pymupdf import mupdf

__all__ = ["mupdf", "pymupdf"]

LOCK: Final = threading.Lock()
"""MuPDF has global state: every use must hold this lock."""

MUPDF_ERRORS: Final = (mupdf.FzErrorBase, pymupdf.FileDataError, RuntimeError, ValueError)
"""Exceptions of MuPDF for damaged files."""

_END_OF_OBJECT: Final = b"endobj"

pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)


def open_document(content: bytes, filetype: str = "pdf") -> pymupdf.Document:
    """Open a document; a PDF that ends within an object is read up to the object before.

    Raises:
        FileDataError: it is too damaged to be opened.
    """
    try:
        return pymupdf.open(stream=content, filetype=filetype)
    except pymupdf.FileDataError:
        # MuPDF rejects a file that ends within an object, though everything before it may be sound.
        whole, last, _ = content.rpartition(_END_OF_OBJECT)
        if not last:
            raise
        return pymupdf.open(stream=whole + last, filetype=filetype)
