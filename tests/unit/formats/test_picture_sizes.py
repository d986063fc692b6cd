"""Sizes of pictures, read from the heads of files of every format; an invalid header has no size."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from scanned_pages import blank, tiff

from directory_indexer.formats.containers import Budget
from directory_indexer.formats.media import extract_image
from directory_indexer.formats.scanned_pictures import Size, picture_sizes

if TYPE_CHECKING:
    from directory_indexer.core.files import PageKey

PNG = blank(30, 20).png()
JPEG = blank(30, 20).jpeg()


def webp(chunk: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


def directory(*, width: int, height: int, next_at: int, order: str = "<", type_: int = 4) -> bytes:
    value = f"{order}HHI" + ("I" if type_ == 4 else "H2x")
    entries = struct.pack(value, 256, type_, 1, width) + struct.pack(value, 257, type_, 1, height)
    return struct.pack(f"{order}H", 2) + entries + struct.pack(f"{order}I", next_at)


SIZES = {
    "png": ("png", PNG, [(30, 20)]),
    "png of 60,000 by 60,000": ("png", PNG[:16] + struct.pack(">II", 60_000, 60_000) + PNG[24:], [(60_000, 60_000)]),
    "jpeg": ("jpeg", JPEG, [(30, 20)]),
    "jpeg, progressive": ("jpeg", JPEG.replace(b"\xff\xc0", b"\xff\xc2"), [(30, 20)]),
    "jpeg with padding": ("jpeg", JPEG.replace(b"\xff\xc0", b"\xff\xff\xff\xc0"), [(30, 20)]),
    "webp, lossy": (
        "webp",
        webp(b"VP8 " + bytes(7) + b"\x9d\x01\x2a" + struct.pack("<HH", 30 | 1 << 14, 20)),
        [(30, 20)],
    ),
    "webp, lossless": (
        "webp",
        webp(b"VP8L" + bytes(4) + b"\x2f" + struct.pack("<I", 29 | 19 << 14 | 1 << 28)),
        [(30, 20)],
    ),
    "webp, extended": ("webp", webp(b"VP8X" + bytes(8) + b"\x1d\0\0\x13\0\0"), [(30, 20)]),
    "tiff": ("tiff", tiff(blank(30, 20), blank(10, 5)), [(30, 20), (10, 5)]),
    "tiff, big endian": (
        "tiff",
        b"MM\0*" + struct.pack(">I", 8) + directory(width=30, height=20, next_at=0, order=">", type_=3),
        [(30, 20)],
    ),
}


@pytest.mark.parametrize("case", SIZES.values(), ids=SIZES)
def test_the_size_of_each_page_is_read(case: tuple[str, bytes, list[tuple[int, int]]]) -> None:
    kind, content, sizes = case
    assert picture_sizes(content, kind) == [Size(*size) for size in sizes]


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp", "tiff", "gif", "heic"])
@pytest.mark.parametrize("content", [b"", b"II", b"\xff\xd8", b"RIFF", b"\x89PNG\r\n\x1a\n", bytes(5), b"\xff" * 1000])
def test_what_is_cut_off_or_no_picture_has_no_size(kind: str, content: bytes) -> None:
    assert picture_sizes(content, kind) == []


def test_a_tiff_whose_pages_form_a_loop_has_each_once() -> None:
    loop = b"II*\0" + struct.pack("<I", 8) + directory(width=30, height=20, next_at=8)
    assert picture_sizes(loop, "tiff") == [(30, 20)]


def test_a_tiff_that_is_damaged_has_the_pages_before_the_damage() -> None:
    first = directory(width=30, height=20, next_at=1 << 30)
    assert picture_sizes(b"II*\0" + struct.pack("<I", 8) + first, "tiff") == [(30, 20)]


def test_of_a_tiff_with_too_many_pages_it_is_said_that_they_are_not_read() -> None:
    last_page = directory(width=400, height=300, next_at=0)
    pages = (directory(width=400, height=300, next_at=8 + len(last_page) * number) for number in range(1, 1_300))
    content = b"II*\0" + struct.pack("<I", 8) + b"".join(pages) + last_page

    scans = extract_image(content, "tiff", Budget(recognised=NothingRead())).scans

    assert [scan.page for scan in scans] == list(range(1, 1_002))
    assert {scan.problem for scan in scans[:-1]} == {""}
    assert scans[-1].problem == "only the first 1,000 pages of a picture's file are read"


class NothingRead:
    """OCR results without any page."""

    def get(self, _: PageKey) -> None:
        """Return None: the page is unknown."""


def test_a_tiff_without_a_size_has_pages_without_pixels() -> None:
    empty = b"II*\0" + struct.pack("<I", 8) + struct.pack("<HI", 0, 0)
    assert picture_sizes(empty, "tiff") == [(0, 0)]


def test_what_a_tiff_declares_is_read_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    n_read = 0
    unpack_from = struct.unpack_from

    def counted(*arguments: object) -> tuple[int, ...]:
        nonlocal n_read
        n_read += 1
        return unpack_from(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(struct, "unpack_from", counted)
    # Any of 997 directories has 65,535 entries, which overlap, and names another one behind them.
    patterns = (b"\xff\xff" + struct.pack("<I", 8 + 6 * (number % 997)) for number in range(140_000))
    picture_sizes(b"II*\0" + struct.pack("<I", 8) + b"".join(patterns), "tiff")
    assert 100_000 < n_read < 1_000_000
