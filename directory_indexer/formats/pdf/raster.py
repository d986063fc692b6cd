"""Pages as pixels and as picture files."""

from __future__ import annotations

from typing import NamedTuple


class Raster(NamedTuple):
    """A page as rows of 8-bit pixels from the top, without padding: grey, or red, green and blue."""

    width: int
    height: int
    samples: bytes
    n_channels: int = 1
    dpi: int = 0

    def to_pnm(self) -> bytes:
        """Return it as an uncompressed PNM file."""
        magic = b"P5" if self.n_channels == 1 else b"P6"
        return b"%s %d %d 255\n" % (magic, self.width, self.height) + self.samples


class EncodedPage(NamedTuple):
    """A page as a PNG or JPEG file, with its size in pixels."""

    content: bytes
    media_type: str
    width: int
    height: int
    dpi: int = 0
