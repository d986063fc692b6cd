"""Of the size of a picture anything may be declared: there is a list of sizes, and never an exception."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import example, given
from hypothesis import strategies as st
from scanned_pages import blank, tiff

from directory_indexer.formats.scanned_pictures import may_hold_text, picture_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = ["jpeg", "png", "tiff", "webp"]
REAL = [blank(30, 20).png(), blank(30, 20).jpeg(), tiff(blank(30, 20), blank(4, 4))]
HEADS = [b"II*\0", b"MM\0*", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8X", b"RIFF\0\0\0\0WEBPVP8 ", b"RIFF\0\0\0\0WEBPVP8L"]
CHANGES = st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 255)), max_size=8)


@given(st.sampled_from(KINDS), st.one_of(st.sampled_from(HEADS), st.just(b"")), st.binary(max_size=200))
@example("jpeg", b"\xff\xd8", b"\xff\xe0\x00\x00" * 10)
def test_any_bytes_have_sizes_or_none(kind: str, head: bytes, rest: bytes) -> None:
    assert all(width >= 0 <= height for width, height in picture_sizes(head + rest, kind))
    may_hold_text(head + rest, kind)


@given(st.sampled_from(KINDS), st.sampled_from(REAL), CHANGES, st.integers(0, 2_000))
def test_damaged_pictures_have_sizes_or_none(
    kind: str, content: bytes, changes: Sequence[tuple[int, int]], end: int
) -> None:
    damaged = bytearray(content)
    for at, value in changes:
        damaged[at % len(damaged)] = value
    picture_sizes(bytes(damaged[: end or None]), kind)
