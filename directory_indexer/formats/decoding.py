"""Decoding of text files in any encoding, character sets by their labels, and detection of binary files.

A line ends at LF, CRLF or, in files without a single LF, at CR; nothing else ends one. After decoding LF is the only
line end, so lines are counted by it alone. Form feeds, U+0085, U+2028 and their like stay in the text as characters.

Labels in mail and pages are read as browsers read them (WHATWG Encoding Standard). A declared character set is widened
to the one that programs write under its name, and a byte that does not fit it costs one character.
"""

from __future__ import annotations

import codecs
import contextlib
import re
import string
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.core.errors import SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.lazy import lazily
from directory_indexer.formats.signatures import UNKNOWN, describe
from directory_indexer.formats.text_plausibility import MAX_IMPLAUSIBILITY, implausibility, is_plausible_text

with lazily:
    import chardet


def decode(content: bytes) -> str:
    """Decode a text file, with LF line ends.

    Raises:
        SkipFileError: the bytes are no text; the message says what they are.

    """
    text = _decode_with_bom(content)
    return _normalize_lines(_decode_without_bom(content) if text is None else text)


def decode_declared(content: bytes, label: str | None) -> str:
    """Decode bytes with a declared character set, or None; a byte that does not fit it becomes U+FFFD.

    Text that is in another character set is decoded as what it is: labels are wrong more often than not.
    """
    codec = codec_of(label or "")
    if codec and codec.startswith(_ASCII_FAMILIES):
        return decode_leniently(content, codec)
    if content.isascii():
        return content.decode("ascii")
    text = _decode_utf8(content, None if codec == "utf-8" else codec)
    if text is None and len(content.translate(None, _ASCII)) >= _FEW_NON_ASCII_BYTES:
        text = _decode_detected(content)
    return content.decode(codec if codec in _MULTIBYTE_ENCODINGS else "cp1252", "replace") if text is None else text


def _normalize_lines(text: str) -> str:
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


def _decode_with_bom(content: bytes) -> str | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if (
            content.startswith(mark)
            and (text := _decode_wide(content[len(mark) :], encoding, has_bom=True)) is not None
        ):
            return text
    return None


def _decode_without_bom(content: bytes) -> str:
    content = content.removeprefix(codecs.BOM_UTF8)
    sample = _sample(content)
    controls = sample.translate(None, _TEXT_BYTES)
    if 0 in controls and (text := _decode_wide(content, _wide_encoding(sample, controls))) is not None:
        return text
    if b"\x1b$" in sample and content.isascii() and (text := _decode_iso2022(content)) is not None:
        return text
    if not _may_be_text(content, sample, controls):
        raise _binary_error(content)
    if content.isascii():
        # Text in HZ is ASCII, and its escapes occur elsewhere, too.
        is_hz = b"~{" in content and _declared_encoding(content[:_DECLARATION_BYTES]) == "hz"
        return content.decode("hz" if is_hz else "ascii", "replace")
    text = _decode_utf8(content, _declared_encoding(content[:_DECLARATION_BYTES]))
    if text is None and len(controls.replace(b"\0", b"")) <= len(sample) * _MAX_LEGACY_CONTROL_SHARE:
        text = _decode_detected(content)
    if text is None:
        raise _binary_error(content)
    return text


def _may_be_text(content: bytes, sample: bytes, controls: bytes) -> bool:
    """Whether control characters are as rare as in text, or separate its fields, as NUL and SOH do."""
    n_nuls = controls.count(0)
    if n_nuls <= len(sample) * _MAX_NUL_SHARE:
        # A header with some control characters may stand before pixels that are all ASCII.
        is_headed = len(sample) > _HEADER_BYTES and bool(sample[:_HEADER_BYTES].translate(None, _TEXT_BYTES))
        is_rare = len(controls) <= max(len(sample) * _MAX_FEW_CONTROLS, 1) and not is_headed
        return is_rare or (len(controls) <= len(sample) * _MAX_CONTROL_SHARE and _has_fields(sample))
    # Programs fill fields of a fixed length with NULs, and file systems the end of a log at a loss of power.
    is_filled = len(controls) - n_nuls <= len(sample) * _MAX_NUL_SHARE * _MAX_NUL_SHARE
    return is_filled and _has_fields(sample) and describe(content) == UNKNOWN


def _has_fields(sample: bytes) -> bool:
    """Whether the fields between control characters are long enough for words, and consist of word characters."""
    fields = [field for field in re.split(_CONTROLS, sample) if field]
    text = b"".join(fields)
    is_little = len(text) < (_FEW_BYTES if b"\n" in text else len(sample) * _MIN_TEXT_SHARE)
    if is_little or len(text) < len(fields) * _SHORT_FIELD:
        return False
    n_of_words = len(text) - len(text.translate(None, _WORD_BYTES))
    commonest = max(text.count(byte) for byte in _LETTERS_AND_DIGITS)
    return n_of_words >= _MIN_WORD_SHARE * len(text) and commonest <= _MAX_ONE_LETTER * len(text)


def _sample(content: bytes) -> bytes:
    if len(content) <= 4 * _SAMPLE_BYTES:
        return content
    middle = len(content) // 4 * 2  # even, so that the two bytes of UTF-16 keep their places
    end = (len(content) - _SAMPLE_BYTES) // 2 * 2
    return content[: 2 * _SAMPLE_BYTES] + content[middle : middle + _SAMPLE_BYTES] + content[end:]


def _wide_encoding(sample: bytes, controls: bytes) -> str | None:
    """Guess UTF-16 or UTF-32 by the positions of the NULs of its ASCII characters."""
    sample = re.sub(_HOLES, rb"\1", sample)
    nuls = [sample[offset::4].count(0) / (len(sample) / 4) for offset in range(4)]
    if nuls[3] > _MIN_NUL_SHARE and nuls[2] > _MIN_NUL_SHARE:
        return "utf-32-le"
    if nuls[0] > _MIN_NUL_SHARE and nuls[1] > _MIN_NUL_SHARE:
        return "utf-32-be"
    even, odd = nuls[0] + nuls[2], nuls[1] + nuls[3]
    # Apart from the NULs, UTF-16 of English looks like ASCII, and so does ASCII that a crash left with some NULs.
    is_like_ascii = sample.isascii() and not controls.strip(b"\0")
    if max(even, odd) < (_MIN_NUL_SHARE_OF_LATIN if is_like_ascii else _MIN_NUL_SHARE_OF_WIDE):
        return None
    if even < odd * _MAX_SHARE_OF_OTHER:
        return "utf-16-le"
    return "utf-16-be" if odd < even * _MAX_SHARE_OF_OTHER else None


def _decode_wide(content: bytes, encoding: str | None, *, has_bom: bool = False) -> str | None:
    """Decode UTF-16 or UTF-32; None if the result is no text, as when numbers are read as characters.

    With a byte order mark it is enough that the characters are those of a text.
    """
    if encoding is None:
        return None
    text = content.decode(encoding, "replace")
    written = re.sub(_WIDE_HOLES, "\0", text) if "\0" in text else text
    sample = written[:2000] + written[-2000:]
    n_invalid = sum(unicodedata.category(character) in _NO_TEXT for character in sample if character not in _LAYOUT)
    are_characters = n_invalid + sample.count("\ufffd") <= len(sample) * _MAX_INVALID_SHARE
    return text if are_characters and (has_bom or is_plausible_text(written)) else None


def _decode_iso2022(content: bytes) -> str | None:
    """Decode ISO-2022, which writes other scripts in ASCII between escape sequences."""
    return decode_strictly(content, "iso2022_kr" if b"\x1b$)C" in content else "iso2022_jp")


def _decode_utf8(content: bytes, declared: str | None) -> str | None:
    """Decode UTF-8, the declared encoding, or a mix of both line by line; None if it is another encoding."""
    # Some short texts in a multi-byte encoding are valid UTF-8 by chance, so there the declaration is tried first;
    # any bytes are valid in a single-byte encoding, so there UTF-8 is tried first.
    if declared in _MULTIBYTE_ENCODINGS and (text := decode_strictly(content, declared)) is not None:
        return text
    if (text := decode_strictly(content, "utf-8")) is not None:
        return text
    if declared in _MULTIBYTE_ENCODINGS and (text := _decode_damaged(content, declared)) is not None:
        return text
    return _decode_lines(content, declared)


def _decode_damaged(content: bytes, encoding: str) -> str | None:
    """Decode text that has some invalid bytes; None if there are too many."""
    text = decode_leniently(content, encoding)
    n_good, n_bad = _count_non_ascii(text)
    return text if n_good >= n_bad * _MIN_GOOD_PER_BAD else None


def _decode_lines(content: bytes, declared: str | None) -> str | None:
    """Decode lines of UTF-8 mixed with lines in a legacy encoding, as when programs append to one file."""
    lines = [_Line.of(line) for line in content.split(b"\n")]
    foreign = b"\n".join(line.content for line in lines if not line.is_utf8)
    n_good = sum(line.n_good for line in lines if line.is_utf8)
    older = None if declared in _MULTIBYTE_ENCODINGS else declared
    if n_good < max(len(foreign.translate(None, _ASCII)) * _MIN_UTF8_SHARE, 1):
        return decode_leniently(content, older) if older else None
    older = older or (_detected_encoding(foreign) if foreign else "utf-8")
    return "\n".join(line.content.decode("utf-8" if line.is_utf8 else older, "replace") for line in lines)


class _Line(NamedTuple):
    """A line, whether it is UTF-8 but for some bytes, and how many non-ASCII characters it has as such."""

    content: bytes
    is_utf8: bool
    n_good: int

    @classmethod
    def of(cls, content: bytes) -> _Line:
        if content.isascii():
            return cls(content, is_utf8=True, n_good=0)
        n_good, n_bad = _count_non_ascii(content.decode("utf-8", "replace"))
        return cls(content, n_good >= n_bad, n_good)


def _count_non_ascii(text: str) -> tuple[int, int]:
    """Return the number of non-ASCII characters and of invalid bytes."""
    n_bad = text.count("\ufffd")
    return len(text) - len(text.encode("ascii", "ignore")) - n_bad, n_bad


def _decode_detected(content: bytes) -> str | None:
    """Decode text in an undeclared encoding; None if the result is no text."""
    text = content.decode(_detected_encoding(content), "replace")
    if implausibility(text) > MAX_IMPLAUSIBILITY:
        others = (content.decode(encoding, "replace") for encoding in _OVERLOOKED_ENCODINGS)
        text = next((other for other in others if implausibility(other) <= _MAX_IMPLAUSIBILITY_OF_OTHERS), text)
    is_sound = text.count("\ufffd") <= len(text) * _MAX_INVALID_SHARE
    return text if is_sound and is_plausible_text(text) else None


def _detected_encoding(content: bytes) -> str:
    # 40 ms to import, for the one file in hundreds that is not UTF-8.

    result = chardet.detect(
        b"\n".join(_non_ascii_lines(content)),
        include_encodings=_DETECTABLE_ENCODINGS,
        compat_names=False,
    )
    return result["encoding"] or "cp1252"


def _non_ascii_lines(content: bytes) -> Iterator[bytes]:
    """Yield the lines that are not ASCII: the detector overlooks a few of them among code (0.60 to 1.00)."""
    first = next(re.finditer(_NON_ASCII_BYTE, content)).start()
    start = max(content.rfind(b"\n", 0, first) + 1, first - _CONTEXT_BYTES)
    budget = _DETECTION_BYTES
    for line in content[start : start + _SEARCHED_BYTES].splitlines():
        if budget <= 0:
            return
        if not line.isascii():
            yield line[:budget]
            budget -= len(line)


def _declared_encoding(head: bytes) -> str | None:
    declaration = re.search(_DECLARATION, b"\n".join(head.splitlines()[:2])) or re.search(_META_CHARSET, head)
    name = codec_of(declaration[1].decode("ascii")) if declaration else None
    # A declaration that can be read as ASCII is not in UTF-16, whatever it says.
    is_plausible = name in _MULTIBYTE_ENCODINGS or (name or "").startswith(_SINGLE_BYTE_FAMILIES)
    return name if is_plausible else None


def _binary_error(content: bytes) -> SkipFileError:
    return SkipFileError(SkipReason.BINARY, describe(content))


_SAMPLE_BYTES: Final = 16_384
_DETECTION_BYTES: Final = 8_192
_SEARCHED_BYTES: Final = 1_048_576
_CONTEXT_BYTES: Final = 200
_DECLARATION_BYTES: Final = 1_024

_MAX_NUL_SHARE: Final = 0.01
_HEADER_BYTES: Final = 128
_MAX_FEW_CONTROLS: Final = 0.02
_MAX_CONTROL_SHARE: Final = 0.2
"""Of valid UTF-8: financial logs separate their fields with SOH, one character in seven."""
_MAX_LEGACY_CONTROL_SHARE: Final = 0.02
"""Of anything else: a tenth of compressed data is control characters."""
_MAX_INVALID_SHARE: Final = 0.05
_MIN_GOOD_PER_BAD: Final = 4
_MIN_UTF8_SHARE: Final = 0.1
"""Of the foreign bytes of a file: some lines in another encoding are valid UTF-8 by chance, and hardly ever so many."""

_MIN_TEXT_SHARE: Final = 0.1
_FEW_BYTES: Final = 64
_SHORT_FIELD: Final = 4
_MIN_WORD_SHARE: Final = 0.6
_MAX_ONE_LETTER: Final = 0.5
_MIN_NUL_SHARE: Final = 0.8
_MAX_SHARE_OF_OTHER: Final = 0.1
_MIN_NUL_SHARE_OF_LATIN: Final = 0.8
"""Of the two places in four that the high bytes of UTF-16 take, added up."""
_MIN_NUL_SHARE_OF_WIDE: Final = 0.1

_TEXT_BYTES: Final = bytes({7, 8, 9, 10, 11, 12, 13, 27} | set(range(0x20, 0x7F)) | set(range(0x80, 0x100)))
_HOLES: Final = rb"(\0{4}){4,}"
_WIDE_HOLES: Final = r"\0{4,}"
"""Stretches that a file system leaves in a log at a loss of power, in bytes and in wide characters."""

_CONTROLS: Final = rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]+"
_ASCII: Final = bytes(range(0x80))
_ASCII_FAMILIES: Final = ("iso2022", "hz", "utf-7", "utf-16", "utf-32")
"""Encodings whose bytes are all ASCII, or of which half are NULs."""

_FEW_NON_ASCII_BYTES: Final = 8
_LETTERS_AND_DIGITS: Final = string.ascii_letters.encode() + string.digits.encode()
_WORD_BYTES: Final = _LETTERS_AND_DIGITS + b" \t\r\n" + bytes(range(0x80, 0x100))
_LAYOUT: Final = "\t\n\v\f\r\x1b\b\x85"
_NO_TEXT: Final = frozenset({"Cc", "Cn", "Co", "Cs"})

_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_MULTIBYTE_ENCODINGS: Final = frozenset(
    "big5 big5hkscs cp932 cp949 cp950 euc_jis_2004 euc_jisx0213 euc_jp euc_kr gb18030 gb2312 gbk hz johab shift_jis "
    "shift_jis_2004 shift_jisx0213".split()
)
_SINGLE_BYTE_FAMILIES: Final = ("iso8859", "cp125", "cp43", "cp85", "cp86", "cp87", "koi8", "mac", "tis", "kz", "ptcp")

_DETECTABLE_ENCODINGS: Final = (
    "cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp850 cp866 cp874 koi8-r iso8859-2 iso8859-5 "
    "cp932 euc_jis_2004 gb18030 big5hkscs cp949 euc_kr"
).split()
"""The encodings of real text files. Of all 90 that the detector knows, exotic ones win by accident (0.93 to 0.96)."""

_OVERLOOKED_ENCODINGS: Final = "mac_roman big5hkscs gb18030 cp932 cp949 cp737".split()
"""Encodings that are tried when the text is implausible in the detected one."""

_MAX_IMPLAUSIBILITY_OF_OTHERS: Final = 0.08
"""With six encodings to try, any bytes may resemble text in one of them (0.11)."""

# Compiled on first use, since most texts need none of them.
_DECLARATION: Final = rb"(?:coding\s*[:=]|charset\s*=|@charset)\s*[\"']?([A-Za-z][-\w.]{1,30})"
_META_CHARSET: Final = rb"(?i)<meta\s[^>]{0,200}?charset\s*=\s*[\"']?([A-Za-z][-\w.]{1,30})"
_NON_ASCII_BYTE: Final = rb"[\x80-\xff]"
_OVERSTRUCK: Final = "[^\n\b]\b|\b"
_TERMINAL_ESCAPE: Final = (
    r"\x1b(?:\[[0-?]{0,20}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[()][0-9A-Z]|[=>78])"
)


def codec_of(label: str) -> str | None:
    """Return the Python codec of a declared label; None if the character set is unknown."""
    name = re.sub(_PART_OF_ISO_8859, r"iso8859-\1", label.strip(" \t\r\n\"'").lower())
    for spelling in (_ALIASES.get(name, name), name.removeprefix("x-"), _code_page(name)):
        try:
            codec = codecs.lookup(spelling).name
        except (LookupError, ValueError):  # also a label with a NUL in it
            continue
        return _SUPERSETS.get(codec, codec) if codec.startswith(_FAMILIES) else None
    return None


def _code_page(name: str) -> str:
    return re.sub(r"^(?:windows|cp|ibm)-", "cp", name)


def decode_strictly(content: bytes, codec: str) -> str | None:
    """Decode bytes; None unless all of them fit the codec."""
    try:
        return decode_leniently(content, codec, errors="strict")
    except ValueError:
        return None


def decode_leniently(content: bytes, codec: str, *, errors: str = "replace") -> str:
    """Decode bytes; each byte that does not fit the codec becomes U+FFFD."""
    if codec.startswith("iso2022_jp"):
        with contextlib.suppress(ValueError):
            return content.decode("iso2022_jp_2")
        return "".join(_decode_iso2022_jp(content, errors))
    return content.decode(codec, errors)


def _decode_iso2022_jp(content: bytes, errors: str) -> list[str]:
    """Decode ISO-2022-JP with the NEC extensions, such as circled digits, which no Python codec has."""
    ascii_only, *shifted = re.split(rb"\x1b(\$[@B]|\$\([DOPQ]|\([BIJ])", content)
    texts = [ascii_only.decode("ascii", errors)]
    for escape, stretch in zip(shifted[::2], shifted[1::2], strict=True):
        # With the high bit set, EUC has the same characters at these bytes, and Shift_JIS the half-width kana.
        raised = bytes(byte | 0x80 if byte > _SPACE else byte for byte in stretch)
        match escape:
            case b"(B" | b"(J":
                texts.append(stretch.decode("ascii", errors))
            case b"(I":
                texts.append(raised.decode("cp932", errors))
            case b"$(D":
                texts.append(re.sub(rb"([\x80-\xff]{2})", b"\x8f\\1", raised).decode("euc_jp", errors))
            case _:
                texts.append(raised.decode("euc_jis_2004", errors))
    return texts


_SPACE: Final = 0x20
_PART_OF_ISO_8859: Final = r"^iso[-_]?8859[-_]?(\d{1,2})$"
_FAMILIES: Final = tuple(
    "ascii big5 cp euc gb hp hz iso2022 iso8859 johab koi8 kz1048 mac ptcp154 shift tis utf".split()
)
"""Prefixes of the Python codecs that are character sets; others are for Zip files or host names."""

_ALIASES: Final = {
    alias: codec
    for codec, aliases in {
        "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
        "cp866": "csibm866",
        "iso8859-6": "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i",
        "iso8859-7": "sun_eu_greek",
        "iso8859-8": "csiso88598e csiso88598i iso-8859-8-e iso-8859-8-i visual logical",
        "iso8859-15": "csisolatin9",
        "koi8-r": "koi koi8",
        "koi8-u": "koi8-ru",
        "mac-roman": "csmacintosh mac",
        "mac-cyrillic": "x-mac-ukrainian",
        "cp874": "dos-874",
        "gb18030": "csgb2312 gb_2312 gb_2312-80",
        "big5hkscs": "cn-big5 x-x-big5",
        "euc_jp": "cseucpkdfmtjapanese",
        "cp932": "windows-31j ms_kanji",
        "cp949": "cseuckr csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601",
        "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff",
        "utf-16-be": "unicodefffe",
    }.items()
    for alias in aliases.split()
}
"""Labels of the standard that Python does not know."""

_SUPERSETS: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "euc_jp": "euc_jis_2004",
    "euc_jisx0213": "euc_jis_2004",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""Supersets by the name of the character set under which the standard decodes them, as usual practice does."""
