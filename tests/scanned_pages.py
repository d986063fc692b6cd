"""Pictures of pages for tests: what is written on them is in blocks of two greys, which the stand-in for OCR reads."""

from __future__ import annotations

import struct
from typing import NamedTuple

import pymupdf
from tesseract_standin import COLUMNS, DARK, LIGHT, ROWS, cells_of

CELL = 5
WIDTH, HEIGHT = COLUMNS * CELL, ROWS * CELL
"""The size of a picture in pixels; as large as a picture must be to be read at all."""

PAPER = pymupdf.Rect(0, 0, WIDTH / 2, HEIGHT / 2)
"""The size of a page in points."""


class Picture(NamedTuple):
    """Rows of grey pixels."""

    width: int
    height: int
    samples: bytes

    def turned(self, degrees: int) -> Picture:
        """Turn it clockwise by a multiple of 90 degrees."""
        picture = self
        for _ in range(degrees // 90 % 4):
            width, height, samples = picture
            columns = (samples[x::width][::-1] for x in range(width))
            picture = Picture(height, width, b"".join(columns))
        return picture

    def pixmap(self) -> pymupdf.Pixmap:
        return pymupdf.Pixmap(pymupdf.csGRAY, self.width, self.height, self.samples, False)

    def png(self) -> bytes:
        return bytes(self.pixmap().tobytes("png"))

    def jpeg(self) -> bytes:
        return bytes(self.pixmap().tobytes("jpeg", jpg_quality=100))


def picture(text: str, language: str = "eng", confidence: int = 95, *, turn: int = 0) -> Picture:
    """Make a picture of a page; it has to be turned clockwise by `turn` degrees to stand upright."""
    cells = cells_of(text, language, confidence)
    rows = []
    for row in range(ROWS):
        line = b"".join(bytes([DARK if cell else LIGHT]) * CELL for cell in cells[row * COLUMNS : (row + 1) * COLUMNS])
        rows += [line] * CELL
    return Picture(WIDTH, HEIGHT, b"".join(rows)).turned(-turn)


def blank(width: int = WIDTH, height: int = HEIGHT, grey: int = 250) -> Picture:
    """Make a picture on which nothing is written."""
    return Picture(width, height, bytes([grey]) * (width * height))


def tiff(*pictures: Picture) -> bytes:
    """Write pictures as the pages of one file, without packing."""
    file = bytearray(b"II*\0" + struct.pack("<I", 8))
    for number, image in enumerate(pictures, 1):
        entries = {
            256: (4, image.width),
            257: (4, image.height),
            258: (3, 8),
            259: (3, 1),
            262: (3, 1),
            273: (4, len(file) + 2 + 12 * 9 + 4),
            277: (3, 1),
            278: (4, image.height),
            279: (4, len(image.samples)),
        }
        file += struct.pack("<H", len(entries))
        for tag, (type_, value) in entries.items():
            file += struct.pack("<HHII", tag, type_, 1, value)
        behind = len(file) + 4 + len(image.samples)
        file += struct.pack("<I", behind if number < len(pictures) else 0) + image.samples
    return bytes(file)


def scan(*pages: str | Picture) -> bytes:
    """Make a PDF of scanned pages."""
    with pymupdf.open() as pdf:
        for page in pages:
            add_scan(pdf, page)
        return bytes(pdf.tobytes())


def add_scan(pdf: pymupdf.Document, page: str | Picture) -> pymupdf.Page:
    """Add a page that is a picture."""
    image = picture(page) if isinstance(page, str) else page
    added = pdf.new_page(width=image.width / 2, height=image.height / 2)
    added.insert_image(added.rect, stream=image.png())
    return added


def add_text(pdf: pymupdf.Document, text: str) -> pymupdf.Page:
    """Add a page with text."""
    added = pdf.new_page(width=PAPER.width, height=PAPER.height)
    for number, line in enumerate(text.split("\n")):
        added.insert_text((20, 30 + 14 * number), line, fontsize=10)
    return added


def document(*pages: str | Picture) -> bytes:
    """Make a PDF with text on the pages that are given as such, and scans of the others."""
    with pymupdf.open() as pdf:
        for page in pages:
            if isinstance(page, str):
                add_text(pdf, page)
            else:
                add_scan(pdf, page)
        return bytes(pdf.tobytes())
