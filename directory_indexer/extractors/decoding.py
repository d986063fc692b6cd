"""How the bytes of a file become text, whatever their encoding, and which bytes are no text.

A line ends at LF, CRLF or, in files without a single LF, at CR; nothing else ends one. After decoding LF is the only
line end, so lines are counted by it alone. Form feeds, U+0085, U+2028 and their like stay in the text as characters.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from directory_indexer.errors import SkipFileError
from directory_indexer.extractors.binary import describe
from directory_indexer.files import SkipReason
from directory_indexer.lazy import lazily

with lazily:
    import chardet


def decode(content: bytes) -> str:
    """Turn the bytes of a text file into text with LF line ends.

    Raises:
        SkipFileError: the bytes are no text; the message says what they are.

    """
    text = _decode_marked(content)
    return _with_plain_lines(_decode_unmarked(content) if text is None else text)


def _with_plain_lines(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        # A lone CR among LFs only moves the cursor of a terminal, as in the log of a progress bar.
        text = text.replace("\r", " " if "\n" in text else "\n")
    if "\x1b" in text:
        text = re.sub(_TERMINAL_ESCAPE, "", text)
    if "\b" in text:
        text = re.sub(_OVERSTRUCK, "", text)
    # SQLite's text functions stop at a NUL; a log may hold some after a crash.
    return text.replace("\0", " ")


def _decode_marked(content: bytes) -> str | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark) and (text := _decode_wide(content[len(mark) :], encoding)) is not None:
            return text
    return None


def _decode_unmarked(content: bytes) -> str:
    content = content.removeprefix(codecs.BOM_UTF8)
    sample = _sample(content)
    controls = sample.translate(None, _TEXT_BYTES)
    if 0 in controls and (text := _decode_wide(content, _wide_encoding(sample, controls))) is not None:
        return text
    if controls.count(0) > len(sample) * _MAX_NUL_SHARE or len(controls) > len(sample) * _MAX_CONTROL_SHARE:
        raise _binary(content)
    if content.isascii():
        return _decode_ascii(content)
    declared = _declared_encoding(content[:_DECLARATION_BYTES])
    text = _decode_utf8(content, declared) or _decode_strictly(content, declared)
    if text is None and len(controls) <= len(sample) * _MAX_LEGACY_CONTROL_SHARE:
        text = _decode_detected(content)
    if text is None:
        raise _binary(content)
    return text


def _sample(content: bytes) -> bytes:
    if len(content) <= 4 * _SAMPLE_BYTES:
        return content
    middle = len(content) // 4 * 2  # even, so that the two bytes of UTF-16 keep their places
    end = (len(content) - _SAMPLE_BYTES) // 2 * 2
    return content[: 2 * _SAMPLE_BYTES] + content[middle : middle + _SAMPLE_BYTES] + content[end:]


def _wide_encoding(sample: bytes, controls: bytes) -> str | None:
    """Guess UTF-16 or UTF-32 by where the NULs of its ASCII characters stand."""
    nuls = [sample[offset::4].count(0) / (len(sample) / 4) for offset in range(4)]
    if nuls[3] > _MOSTLY_NUL and nuls[2] > _MOSTLY_NUL:
        return "utf-32-le"
    if nuls[0] > _MOSTLY_NUL and nuls[1] > _MOSTLY_NUL:
        return "utf-32-be"
    even, odd = nuls[0] + nuls[2], nuls[1] + nuls[3]
    # Apart from the NULs, UTF-16 of English looks like ASCII, and so does ASCII that a crash left with some NULs.
    is_like_ascii = sample.isascii() and not controls.strip(b"\0")
    if max(even, odd) < (_MIN_NUL_SHARE_OF_LATIN if is_like_ascii else _MIN_NUL_SHARE_OF_WIDE):
        return None
    if even < odd * _HARDLY:
        return "utf-16-le"
    return "utf-16-be" if odd < even * _HARDLY else None


def _decode_wide(content: bytes, encoding: str | None) -> str | None:
    """Decode UTF-16 or UTF-32 unless the result is no writing, as when numbers are taken for characters."""
    if encoding is None:
        return None
    text = content.decode(encoding, "replace")
    sample = text[:2000] + text[-2000:]
    n_strange = sum(unicodedata.category(character) in _NO_WRITING for character in sample if character not in _LAYOUT)
    return text if n_strange + sample.count("\ufffd") <= len(sample) * _MAX_STRANGE_SHARE else None


def _decode_ascii(content: bytes) -> str:
    if b"\x1b$" in content:
        text = _decode_strictly(content, "iso2022_kr" if b"\x1b$)C" in content else "iso2022_jp_2")
        if text is not None:
            return text
    return content.decode("ascii")


def _decode_utf8(content: bytes, declared: str | None) -> str | None:
    # Some short texts in a multi-byte encoding are valid UTF-8 by chance, so there the author's word comes first;
    # any bytes satisfy a single-byte encoding, so there the proof comes first.
    if declared in _MULTIBYTE_ENCODINGS and (text := _decode_strictly(content, declared)) is not None:
        return text
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        return content.decode("utf-8", "replace") if _is_damaged_utf8(content, error.start) else None


def _is_damaged_utf8(content: bytes, first_bad: int) -> bool:
    sample = content[max(0, first_bad - _SAMPLE_BYTES) : first_bad + _SAMPLE_BYTES].decode("utf-8", "replace")
    n_bad = sample.count("\ufffd")
    n_good = len(sample) - len(sample.encode("ascii", "ignore")) - n_bad
    return n_good > n_bad * _MIN_GOOD_PER_BAD


def _decode_strictly(content: bytes, encoding: str | None) -> str | None:
    try:
        return content.decode(encoding) if encoding else None
    except UnicodeDecodeError:
        return None


def _decode_detected(content: bytes) -> str | None:
    text = content.decode(_detected_encoding(content), "replace")
    return text if text.count("\ufffd") <= len(text) * _MAX_STRANGE_SHARE else None


def _detected_encoding(content: bytes) -> str:
    # 40 ms to import, for the one file in hundreds that is not UTF-8.

    found = chardet.detect(
        b"\n".join(_foreign_lines(content)),
        include_encodings=_DETECTABLE_ENCODINGS,
        compat_names=False,
    )
    return found["encoding"] or "cp1252"


def _foreign_lines(content: bytes) -> Iterator[bytes]:
    """Pick lines that are not ASCII: among lines of code the detector overlooks the few that tell (0.60 to 1.00)."""
    first = next(re.finditer(_FOREIGN_BYTE, content)).start()
    start = max(content.rfind(b"\n", 0, first) + 1, first - _CONTEXT_BYTES)
    budget = _DETECTION_BYTES
    for line in content[start : start + _SEARCHED_BYTES].splitlines():
        if budget <= 0:
            return
        if not line.isascii():
            yield line[:budget]
            budget -= len(line)


def _declared_encoding(head: bytes) -> str | None:
    found = re.search(_DECLARATION, b"\n".join(head.splitlines()[:2])) or re.search(_META_CHARSET, head)
    if not found:
        return None
    try:
        name = codecs.lookup(found[1].decode("ascii")).name
    except LookupError:
        return None
    # A file that can be read as far as its declaration is not in UTF-16, whatever it says.
    return name if name in _MULTIBYTE_ENCODINGS or name.startswith(_SINGLE_BYTE_FAMILIES) else None


def _binary(content: bytes) -> SkipFileError:
    return SkipFileError(SkipReason.BINARY, describe(content))


_SAMPLE_BYTES: Final = 16_384
_DETECTION_BYTES: Final = 8_192
_SEARCHED_BYTES: Final = 1_048_576
_CONTEXT_BYTES: Final = 200
_DECLARATION_BYTES: Final = 1_024

_MAX_NUL_SHARE: Final = 0.01
_MAX_CONTROL_SHARE: Final = 0.2
"""Of valid UTF-8: financial logs separate their fields with SOH, one character in seven."""
_MAX_LEGACY_CONTROL_SHARE: Final = 0.02
"""Of anything else: a tenth of compressed data is control characters."""
_MAX_STRANGE_SHARE: Final = 0.05
_MIN_GOOD_PER_BAD: Final = 4
_MOSTLY_NUL: Final = 0.8
_HARDLY: Final = 0.1
_MIN_NUL_SHARE_OF_LATIN: Final = 0.8
"""Of the two places in four that the high bytes of UTF-16 take, added up."""
_MIN_NUL_SHARE_OF_WIDE: Final = 0.1

_TEXT_BYTES: Final = bytes({7, 8, 9, 10, 11, 12, 13, 27} | set(range(0x20, 0x7F)) | set(range(0x80, 0x100)))
_LAYOUT: Final = "\t\n\v\f\r\x1b\b\x85"
_NO_WRITING: Final = frozenset({"Cc", "Cn", "Co", "Cs"})

_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_MULTIBYTE_ENCODINGS: Final = frozenset(
    "big5 big5hkscs cp932 cp949 cp950 euc_jis_2004 euc_jisx0213 euc_jp euc_kr gb18030 gb2312 gbk johab shift_jis "
    "shift_jis_2004 shift_jisx0213".split()
)
_SINGLE_BYTE_FAMILIES: Final = ("iso8859", "cp125", "cp43", "cp85", "cp86", "cp87", "koi8", "mac", "tis", "kz", "ptcp")

_DETECTABLE_ENCODINGS: Final = (
    "cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp850 cp866 cp874 koi8-r iso8859-2 iso8859-5 "
    "cp932 euc_jis_2004 gb18030 big5hkscs cp949 euc_kr"
).split()
"""What text files are found in. Of all 90 that the detector knows, the exotic ones win by accident (0.93 to 0.96)."""

# Compiled when a text first needs them, which most do not.
_DECLARATION: Final = rb"(?:coding\s*[:=]|charset\s*=|@charset)\s*[\"']?([A-Za-z][-\w.]{1,30})"
_META_CHARSET: Final = rb"(?i)<meta\s[^>]{0,200}?charset\s*=\s*[\"']?([A-Za-z][-\w.]{1,30})"
_FOREIGN_BYTE: Final = rb"[\x80-\xff]"
_OVERSTRUCK: Final = "[^\n\b]\b|\b"
_TERMINAL_ESCAPE: Final = (
    r"\x1b(?:\[[0-?]{0,20}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[()][0-9A-Z]|[=>78])"
)
