"""Character sets by the labels that mail and pages declare, read as browsers read them (WHATWG Encoding Standard).

A declared character set is widened to the one that programs write under its name, and a byte that does not fit it costs
one character.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from typing import Final


def codec_of(label: str) -> str | None:
    """Return the Python codec of a declared label; None if the character set is unknown."""
    name = re.sub(_PART_OF_ISO_8859, r"iso8859-\1", label.strip(" \t\r\n\"'").lower())
    for spelling in (_ALIASES.get(name, name), name.removeprefix("x-"), name.replace("windows-", "cp")):
        try:
            codec = codecs.lookup(spelling).name
        except (LookupError, ValueError):  # also a label with a NUL in it
            continue
        return _WIDER.get(codec, codec) if codec.startswith(_FAMILIES) else None
    return None


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

_WIDER: Final = {
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
"""Supersets that the standard decodes under the name of another character set, as those who write that name do."""
