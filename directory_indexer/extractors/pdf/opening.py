"""Opens files with MuPDF, one at a time, silently, and even where their end is missing."""

from __future__ import annotations

import sys
import threading
from typing import Final

# PyMuPDF 2 imports two add-ons with a neural network each, which nothing here uses: that doubles the second that it
# takes anyway, and adds half to its 150 MB. Python skips a module that is marked as absent.
_ADD_ONS = [name for name in ("pymupdf.layout", "pymupdf4llm") if name not in sys.modules]
sys.modules.update(dict.fromkeys(_ADD_ONS))  # type: ignore[arg-type]
import pymupdf  # noqa: E402
from pymupdf import mupdf  # noqa: E402

for _name in _ADD_ONS:
    del sys.modules[_name]

__all__ = ["DAMAGE", "LOCK", "mupdf", "opened", "pymupdf"]

LOCK: Final = threading.Lock()
"""MuPDF keeps its state in one place: whoever uses it holds this."""

DAMAGE: Final = (mupdf.FzErrorBase, pymupdf.FileDataError, RuntimeError, ValueError)
"""What MuPDF raises over a file that is damaged."""

_END_OF_OBJECT: Final = b"endobj"

pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)


def opened(content: bytes, filetype: str = "pdf") -> pymupdf.Document:
    """Open a document; of a PDF that ends in the midst of an object, what comes before it.

    Raises:
        FileDataError: it is too damaged to be opened.
    """
    try:
        return pymupdf.open(stream=content, filetype=filetype)
    except pymupdf.FileDataError:
        # MuPDF gives a file up that ends in the midst of an object, though all before it may be sound.
        whole, last, _ = content.rpartition(_END_OF_OBJECT)
        if not last:
            raise
        return pymupdf.open(stream=whole + last, filetype=filetype)
