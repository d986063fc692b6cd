"""Recognition of binary formats, pictures, sound and session files by their first bytes.

Whether bytes are text is decided in `decoding`, by their content; a signature alone decides nothing here, because a
note may well begin with "BM25" or "PK".

Session files are recognised without importing their readers for other data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.formats.transcripts.document import assistant_of


UNKNOWN: Final = "unknown binary format"


def describe(content: bytes) -> str:
    """Return the name of a binary format, as well as its first bytes tell it."""
    if content.startswith(_PREFIXES):
        name = next(name for prefix, name in _SIGNATURES if content.startswith(prefix))
        return _describe_container(name, content)
    return next((name for offset, mark, name in _INNER_SIGNATURES if content.startswith(mark, offset)), UNKNOWN)


def _describe_container(name: str, content: bytes) -> str:
    inner = next((inner for mark, inner in _CONTAINED.get(name, ()) if mark in content[:4096]), None)
    return inner or name


_ZIP: Final = "ZIP archive"
_OLE: Final = "Microsoft Office document or other OLE file"
_RIFF: Final = "RIFF media"

_SIGNATURES: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x89PNG\r\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"8BPS", "Photoshop image"),
    (b"\0\0\1\0", "icon"),
    (b"icns", "icon"),
    (b"BM", "BMP image"),
    *((b"P%d" % form, "Netpbm image") for form in range(1, 8)),
    (b"\x01\xda", "SGI image"),
    (b"\n\5\1", "PCX image"),
    (b"\x59\xa6\x6a\x95", "Sun raster image"),
    (b"\0\0\0\x0cJXL ", "JPEG XL image"),
    (b"\xff\x0a", "JPEG XL image"),
    (b"\0\0\0\x0cjP  ", "JPEG 2000 image"),
    (b"v/1\1", "OpenEXR image"),
    (b"PK\3\4", _ZIP),
    (b"PK\5\6", _ZIP),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\0", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "Zstandard archive"),
    (b"\x04\x22\x4d\x18", "LZ4 archive"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"Rar!\x1a\7", "RAR archive"),
    (b"!<arch>\n", "static library or Debian package"),
    (b"xar!", "macOS package"),
    (b"\xed\xab\xee\xdb", "RPM package"),
    (b"MSCF", "cabinet archive"),
    (b"hsqs", "SquashFS image"),
    (b"\x7fELF", "ELF executable or library"),
    (b"MZ", "Windows executable or library"),
    (b"\xfe\xed\xfa\xce", "Mach-O executable or library"),
    (b"\xfe\xed\xfa\xcf", "Mach-O executable or library"),
    (b"\xce\xfa\xed\xfe", "Mach-O executable or library"),
    (b"\xcf\xfa\xed\xfe", "Mach-O executable or library"),
    (b"\xca\xfe\xba\xbe\0\0\0\2", "Mach-O universal binary"),
    (b"\xca\xfe\xba\xbe", "Java class"),
    (b"\0asm", "WebAssembly module"),
    (b"dex\n", "Android executable"),
    (b"BC\xc0\xde", "LLVM bitcode"),
    (b"\x1bLua", "compiled Lua"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _OLE),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"OggS", "Ogg media"),
    (b"MThd", "MIDI music"),
    (b"RIFF", _RIFF),
    (b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (b"FLV\1", "Flash video"),
    (b"\0\0\1\xba", "MPEG video"),
    (b"\0\0\1\xb3", "MPEG video"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "Windows Media"),
    (b"wOFF", "web font"),
    (b"wOF2", "web font"),
    (b"OTTO", "OpenType font"),
    (b"\0\1\0\0\0", "TrueType font"),
    (b"ttcf", "font collection"),
    (b"\x93NUMPY", "NumPy array"),
    (b"\x89HDF\r\n", "HDF5 data"),
    (b"CDF\1", "NetCDF data"),
    (b"CDF\2", "NetCDF data"),
    (b"PAR1", "Parquet data"),
    (b"ARROW1", "Arrow data"),
    (b"Obj\1", "Avro data"),
    (b"ORC", "ORC data"),
    (b"GGUF", "model weights (GGUF)"),
    (b"ggml", "model weights (GGML)"),
    (b"\x80\2", "Python pickle"),
    (b"\x80\3", "Python pickle"),
    (b"\x80\4\x95", "Python pickle"),
    (b"\x80\5\x95", "Python pickle"),
    (b"\xde\x12\4\x95", "gettext catalogue"),
    (b"\x95\4\x12\xde", "gettext catalogue"),
    (b"DIRC", "git index"),
    (b"PACK\0\0", "git pack"),
    (b"\xfftOc", "git pack index"),
    (b"\0\0\0\1Bud1", "macOS folder settings"),
    (b"bplist0", "binary property list"),
    (b"regf", "Windows registry hive"),
    (b"L\0\0\0\1\x14\2", "Windows shortcut"),
    (b"KDMV", "virtual disk"),
    (b"QFI\xfb", "virtual disk"),
    (b"\x99\1", "PGP key or message"),
)

_INNER_SIGNATURES: Final[tuple[tuple[int, bytes, str], ...]] = (
    (4, b"ftypavif", "AVIF image"),
    (4, b"ftyphei", "HEIC image"),
    (4, b"ftypmif1", "HEIC image"),
    (4, b"ftypM4A", "MP4 audio"),
    (4, b"ftyp", "MP4 or QuickTime video"),
    (4, b"moov", "MP4 or QuickTime video"),
    (8, b'{"', "model weights (safetensors)"),
    (2, b"\r\n", "compiled Python"),
    (34, b"LP", "embedded web font"),
    (128, b"DICM", "DICOM image"),
    (257, b"ustar", "tar archive"),
    (32769, b"CD001", "disc image"),
)

_CONTAINED: Final[dict[str, tuple[tuple[bytes, str], ...]]] = {
    _ZIP: (
        (b"AndroidManifest.xml", "Android package"),
        (b"META-INF/MANIFEST.MF", "Java archive"),
        (b"/data.pkl", "model weights (PyTorch)"),
    ),
    _RIFF: ((b"WEBP", "WebP image"), (b"WAVE", "WAV audio"), (b"AVI ", "AVI video")),
}

_PREFIXES: Final = tuple(prefix for prefix, _ in _SIGNATURES)


def _begins_with(*headers: bytes, at: int = 0) -> Callable[[bytes, bool], bool]:
    return lambda head, _: head.startswith(headers, at)


def _holds(form: bytes, container: bytes) -> Callable[[bytes, bool], bool]:
    return lambda head, _: head.startswith(container) and head.startswith(form, 8)


def is_mp3(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is MPEG audio, which begins with tags, or with a frame that other bytes resemble."""
    return head.startswith(b"ID3") or (has_extension and head[:1] == b"\xff" and head[1:2] > b"\xe0")


def is_bmp(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a Windows bitmap; its two letters alone begin many a text."""
    return head.startswith(b"BM") and head[6:10] == bytes(4) and head[14:18] in _HEADERS_OF_BMP


def is_pnm(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a Netpbm picture; a plain (ASCII) one needs the suffix, too."""
    return bool(re.match(_PNM, head)) and (has_extension or head[1:2] > b"3")


_HEADERS_OF_BMP: Final = tuple(size.to_bytes(4, "little") for size in (12, 40, 52, 56, 64, 108, 124))
_PNM: Final = rb"P[1-6](?:\s|#[^\n]{0,1000}\n){1,50}\d{1,6}(?:\s|#[^\n]{0,1000}\n){1,50}\d{1,6}\s"

is_aiff: Final = _holds(b"AIF", b"FORM")
is_asf: Final = _begins_with(b"\x30\x26\xb2\x75\x8e\x66\xcf\x11")
is_flac: Final = _begins_with(b"fLaC")
is_gif: Final = _begins_with(b"GIF87a", b"GIF89a")
is_jpeg: Final = _begins_with(b"\xff\xd8\xff")
is_heic: Final = _begins_with(b"ftyphei", b"ftyphev", b"ftypmif1", b"ftypmsf1", b"ftypavif", at=4)
is_matroska: Final = _begins_with(b"\x1aE\xdf\xa3")
is_mp4: Final = _begins_with(b"ftypM4A", b"ftypM4B", b"ftypM4R", b"ftypmp4", b"ftypisom", at=4)
is_ogg: Final = _begins_with(b"OggS")
is_png: Final = _begins_with(b"\x89PNG\r\n\x1a\n")
is_tiff: Final = _begins_with(b"II*\0", b"MM\0*")
is_video: Final = _begins_with(
    *(b"ftypmp4", b"ftypiso", b"ftypM4V", b"ftypqt  ", b"ftyp3g", b"ftypavc1", b"ftypMSNV", b"ftypdash", b"moov"), at=4
)
is_wav: Final = _holds(b"WAVE", b"RIFF")
is_webp: Final = _holds(b"WEBP", b"RIFF")


def is_transcript(head: bytes, has_extension: bool) -> bool:  # noqa: ARG001, FBT001 - the signature of `Format.sniff`
    """Whether a file is a session of an assistant."""
    return any(mark in head for mark in _MARKS) and assistant_of(head) is not None


def is_opencode_store(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001 - as above
    """Whether a file is the database of OpenCode, which only its name shows."""
    return has_extension and head.startswith(b"SQLite format 3\0")


_MARKS: Final = (
    *(b'"sessionId"', b'"session_meta"', b'"response_item"', b'"event_msg"', b'"leafUuid"', b'"file-history-snapshot"'),
    *(b'"instructions"', b'"ses_'),
)
