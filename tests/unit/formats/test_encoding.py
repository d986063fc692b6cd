"""Pages as files of pictures, for services that read them."""

from __future__ import annotations

import random

import pytest

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.pdf.mupdf import pymupdf
from directory_indexer.formats.pdf.raster import EncodedPage, Raster
from directory_indexer.formats.pdf.rendering import encode_page, split_page


@pytest.mark.parametrize("n_channels", [1, 3])
def test_a_page_comes_back_as_it_was_drawn_and_its_halves_make_it_whole(n_channels: int) -> None:
    samples = bytes(at % 251 for at in range(31 * 41 * n_channels))
    page = encode_page(Raster(31, 41, samples, n_channels, 200))
    assert page[1:] == ("image/png", 31, 41, 200)
    assert pymupdf.Pixmap(page.content).samples == samples
    upper, lower = split_page(page)
    assert (upper.height, lower.height, upper.width, upper.dpi) == (20, 21, 31, 200)
    assert pymupdf.Pixmap(upper.content).samples + pymupdf.Pixmap(lower.content).samples == samples


def test_a_noisy_page_becomes_smaller_than_services_refuse() -> None:
    noise = random.Random(1).randbytes(1800 * 1800)  # noqa: S311 - nothing secret
    page = encode_page(Raster(1800, 1800, noise))
    assert page.media_type == "image/jpeg"
    assert len(page.content) < 3_000_000
    assert [half.height for half in split_page(page)] == [900, 900]


def test_what_is_no_page_is_no_picture() -> None:
    with pytest.raises(ExtractionError, match="cannot be written"):
        encode_page(Raster(100, 100, b"too few"))
    for content in (b"", b"no picture", encode_page(Raster(10, 1, bytes(10))).content):
        with pytest.raises(ExtractionError, match="cannot be cut"):
            split_page(EncodedPage(content, "image/png", 10, 1))
