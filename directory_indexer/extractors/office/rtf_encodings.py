"""Encodings of rich text: each font has a character set of its own."""

from __future__ import annotations

import codecs
from typing import Final


class Fonts:
    """The fonts of a document, and its default encoding."""

    def __init__(self) -> None:
        self.is_open = False
        """Whether the font table is being read."""

        self._document_encoding = "cp1252"
        self._default_font: int | None = None
        self._encodings: dict[int | None, str] = {}
        self._font: int | None = None

    def set_default(self, word: str, number: int | None) -> bool:
        """Apply a control word that may set the default encoding or font; whether it does."""
        if word == "deff":
            self._default_font = number
            return True
        encoding = _codec_of_code_page(number) if word == "ansicpg" else _DEFAULTS.get(word)
        self._document_encoding = encoding or self._document_encoding
        return encoding is not None

    def define(self, word: str, number: int | None) -> None:
        """Apply a control word of the font table."""
        if word == "f":
            self._font = number
        elif word == "fcharset" and number in _CHARSETS:
            self._encodings[self._font] = f"cp{_CHARSETS[number]}" if number != _MAC else "mac_roman"
        elif word == "cpg" and (encoding := _codec_of_code_page(number)):
            self._encodings[self._font] = encoding

    def encoding(self, font: int | None) -> str:
        """Return the encoding of a font."""
        return self._encodings.get(font, self._document_encoding)

    @property
    def default_encoding(self) -> str:
        """The encoding of text without a font."""
        return self.encoding(self._default_font)


def _codec_of_code_page(number: int | None) -> str | None:
    name = _CODE_PAGES.get(number, f"cp{number}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


_MAC: Final = 77
_DEFAULTS: Final = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_CODE_PAGES: Final[dict[int | None, str]] = {0: "cp1252", 10_000: "mac_roman", 10_007: "mac_cyrillic", 65_001: "utf-8"}
_CHARSETS: Final[dict[int | None, int]] = {
    _MAC: 10_000,
    128: 932,
    129: 949,
    130: 1361,
    134: 936,
    136: 950,
    161: 1253,
    162: 1254,
    163: 1258,
    177: 1255,
    178: 1256,
    186: 1257,
    204: 1251,
    222: 874,
    238: 1250,
    254: 437,
    255: 850,
}
