"""Recognition of pictures and sound by their first bytes; a name alone proves nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final


def _begins_with(*headers: bytes, at: int = 0) -> Callable[[bytes, bool], bool]:
    return lambda head, _: head.startswith(headers, at)


def _holds(form: bytes, container: bytes) -> Callable[[bytes, bool], bool]:
    return lambda head, _: head.startswith(container) and head.startswith(form, 8)


def is_mp3(head: bytes, is_named: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is MPEG audio, which begins with tags, or with a frame that other bytes resemble."""
    return head.startswith(b"ID3") or (is_named and head[:1] == b"\xff" and head[1:2] > b"\xe0")


def is_bmp(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a Windows bitmap; its two letters alone begin many a text."""
    return head.startswith(b"BM") and head[6:10] == bytes(4) and head[14:18] in _HEADERS_OF_BMP


def is_pnm(head: bytes, is_named: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a Netpbm picture; a plain (ASCII) one needs the suffix, too."""
    return bool(re.match(_PNM, head)) and (is_named or head[1:2] > b"3")


_HEADERS_OF_BMP: Final = tuple(size.to_bytes(4, "little") for size in (12, 40, 52, 56, 64, 108, 124))
_PNM: Final = rb"P[1-6](?:\s|#[^\n]{0,1000}\n){1,50}\d{1,6}(?:\s|#[^\n]{0,1000}\n){1,50}\d{1,6}\s"

is_aiff: Final = _holds(b"AIF", b"FORM")
is_asf: Final = _begins_with(b"\x30\x26\xb2\x75\x8e\x66\xcf\x11")
is_flac: Final = _begins_with(b"fLaC")
is_gif: Final = _begins_with(b"GIF87a", b"GIF89a")
is_jpeg: Final = _begins_with(b"\xff\xd8\xff")
is_mp4: Final = _begins_with(b"ftypM4A", b"ftypM4B", b"ftypM4R", b"ftypmp4", b"ftypisom", at=4)
is_ogg: Final = _begins_with(b"OggS")
is_png: Final = _begins_with(b"\x89PNG\r\n\x1a\n")
is_tiff: Final = _begins_with(b"II*\0", b"MM\0*")
is_wav: Final = _holds(b"WAVE", b"RIFF")
is_webp: Final = _holds(b"WEBP", b"RIFF")
