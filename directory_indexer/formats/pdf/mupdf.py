"""Opening of files with MuPDF: one at a time, silently, and even if their end is missing."""

from __future__ import annotations

import sys
import threading
from typing import Final

# PyMuPDF 2 imports two add-ons with a neural network each, which are not used here: they double its import time of
# a second, and add half to its 150 MB. Python skips a module that is marked as absent.
_ADD_ONS = [name for name in ("pymupdf.layout", "pymupdf4llm") if name not in sys.modules]
sys.modules.update(dict.fromkeys(_ADD_ONS))  # type: ignore[arg-type]
import pymupdf  # noqa: E402
from pymupdf import mupdf  # noqa: E402

for _name in _ADD_ONS:
    del sys.modules[_name]

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
