"""Pages to be read: set from texts and then damaged as by scanning, or drawn from files."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pymupdf
from scanning.damage import Damage, damaged

from directory_indexer.formats.pdf.rendering import draw_page

_WIDTH, _HEIGHT, _MARGIN, _GUTTER = 595, 842, 57, 20
_FONTS = ("tiro", "helv", "cour")


class Page(NamedTuple):
    """A picture to be read; `text` is what stands on it where that is known."""

    name: str
    path: Path
    language: str
    group: str
    text: str = ""


def made_pages(contents: dict[str, str], directory: Path, *, n_pages: int, seed: int, dpi: int) -> Iterator[Page]:
    """Set pages, of each language in turn, and damage them."""
    chance = random.Random(seed)
    words = {language: text.split() for language, text in contents.items()}
    for number in range(n_pages):
        language = list(contents)[number % len(contents)]
        n_columns = 1 + number // len(contents) % 2
        damage = Damage.by_chance(chance)
        document, text = _set_page(words[language], n_columns, chance)
        path = directory / f"{number:03}.pgm"
        pixels = pymupdf.Matrix(dpi / 72, dpi / 72).prerotate(damage.slant)
        drawn = document[0].get_pixmap(matrix=pixels, colorspace=pymupdf.csGRAY, alpha=False)
        grey = np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.width)
        _write(path, damaged(grey, damage, np.random.default_rng(chance.randrange(2**32))))
        name = f"{number:03} {language}, {n_columns} columns, {damage.described}"
        yield Page(name, path, language, language, text)


def drawn_files(files: Sequence[Path], directory: Path, *, dpi: int) -> Iterator[Page]:
    """Draw the first page of each file."""
    for number, file in enumerate(files):
        kind = file.suffix[1:].lower()
        raster = draw_page(file.read_bytes(), kind, 1, dpi=dpi).raster
        path = directory / f"{number:03}.pgm"
        path.write_bytes(raster.to_pnm())
        language = "fr" if "franc" in file.name else "en"
        yield Page(file.name, path, language, "files")


def _set_page(words: Sequence[str], n_columns: int, chance: random.Random) -> tuple[pymupdf.Document, str]:
    """Fill a page with lines of a text from some word on; give what stands on it."""
    document = pymupdf.open()
    page = document.new_page(width=_WIDTH, height=_HEIGHT)
    size = chance.choice((9, 10, 11, 12))
    at = chance.randrange(max(len(words) - 1500, 1))
    font = _font(words[at : at + 1500], chance)
    writer = pymupdf.TextWriter(page.rect)
    width = (_WIDTH - 2 * _MARGIN - (n_columns - 1) * _GUTTER) / n_columns
    lines: list[str] = []
    for column in range(n_columns):
        left = _MARGIN + column * (width + _GUTTER)
        for row in range(int((_HEIGHT - 2 * _MARGIN) / (1.3 * size))):
            taken = _fitting(words, at, font, size, width)
            at += len(taken)
            lines.append(" ".join(taken))
            writer.append((left, _MARGIN + (row + 1) * 1.3 * size), lines[-1], font=font, fontsize=size)
    writer.write_text(page)
    return document, "\n".join(lines)


def _fitting(words: Sequence[str], at: int, font: pymupdf.Font, size: float, width: float) -> list[str]:
    taken: list[str] = []
    while at + len(taken) < len(words):
        word = textwrap.shorten(words[at + len(taken)], 25, placeholder="")
        if font.text_length(" ".join([*taken, word]), fontsize=size) > width:
            break
        taken.append(word)
    return taken


def _font(words: Sequence[str], chance: random.Random) -> pymupdf.Font:
    """Choose a font that has the letters: Times, Helvetica and Courier know none but Latin ones."""
    name = chance.choice(_FONTS)
    font = pymupdf.Font(name)
    letters = {letter for word in words for letter in word if letter.isalpha()}
    n_missing = sum(not font.has_glyph(ord(letter)) for letter in letters)
    return pymupdf.Font("cjk") if n_missing > len(letters) / 4 else font


def _write(path: Path, pixels: np.ndarray) -> None:
    path.write_bytes(b"P5\n%d %d\n255\n" % (pixels.shape[1], pixels.shape[0]) + pixels.tobytes())
