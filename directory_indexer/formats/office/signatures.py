"""Recognition of office formats by the beginning of a file: ZIP or OLE, XML, or rich text.

The content types of a package are checked before the names of its parts, and both before the name of the file, which
only counts if the first kilobytes show no more than that it is a package.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Final


def is_docx(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001 - this and the others have the signature of `Format.sniff`
    """Whether a file is a Word document."""
    return _is_package("docx", head, has_extension=has_extension)


def is_pptx(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001
    """Whether a file is a PowerPoint presentation."""
    return _is_package("pptx", head, has_extension=has_extension)


def is_xlsx(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001
    """Whether a file is an Excel workbook."""
    return _is_package("xlsx", head, has_extension=has_extension)


def is_xlsb(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001
    """Whether a file is a binary Excel workbook."""
    return _is_package("xlsb", head, has_extension=has_extension)


def is_vsdx(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001
    """Whether a file is a Visio drawing."""
    return _is_package("vsdx", head, has_extension=has_extension)


def is_odt(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001
    """Whether a file is an OpenDocument text."""
    return _is_package("odt", head, has_extension=has_extension) or (has_extension and _is_flat(head))


def is_ods(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001
    """Whether a file is an OpenDocument spreadsheet."""
    return _is_package("ods", head, has_extension=has_extension) or (has_extension and _is_flat(head))


def is_odp(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001
    """Whether a file is an OpenDocument presentation."""
    return _is_package("odp", head, has_extension=has_extension) or (has_extension and _is_flat(head))


def is_odg(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001
    """Whether a file is an OpenDocument drawing."""
    return _is_package("odg", head, has_extension=has_extension) or (has_extension and _is_flat(head))


def is_doc(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001
    """Whether a file may be a Word document of before 2007."""
    return head.startswith(_OLE) and has_extension


def is_ppt(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001
    """Whether a file may be a PowerPoint presentation of before 2007."""
    return head.startswith(_OLE) and has_extension


def is_ole(head: bytes, _: bool) -> bool:  # noqa: FBT001
    """Whether a file is an OLE file, whose kind its reader finds out, since the first kilobytes do not tell."""
    return head.startswith(_OLE)


def is_office_2003(content: bytes) -> bool:
    """Whether a file is a document of Word 2003 or a workbook of Excel 2003 in XML."""
    root = _xml_root(content)
    return root is not None and _OFFICE_2003.get(root["root"], b"?") in root["attributes"]


def office_xml_kind(content: bytes) -> str:
    """Return the format of an office document in a single XML file; "" for other files."""
    root = _xml_root(content)
    if root is None:
        return ""
    if is_office_2003(content):
        return "docx" if root["root"] == _WORD_2003 else "xlsx"
    if media_type := _OPEN_DOCUMENT_TYPE.search(root["attributes"]):
        return _OPEN_DOCUMENT_KINDS.get(media_type[1], "")
    folder = _FOLDER.search(root.string) if _FLAT_PACKAGE in root["attributes"] else None
    return _FOLDER_KINDS[folder[1]] if folder else ""


def _xml_root(content: bytes) -> re.Match[bytes] | None:
    return _XML_ROOT.match(content[:_HEAD_BYTES].replace(b"\0", b""))


def _is_package(kind: str, head: bytes, *, has_extension: bool) -> bool:
    package_kind = _package_kind(head)
    return package_kind == kind or (has_extension and package_kind == _UNCLEAR)


def _is_flat(head: bytes) -> bool:
    """Whether a file is OpenDocument in a single XML file, which may be in UTF-16."""
    return _FLAT.search(head.replace(b"\0", b"")) is not None


@lru_cache(maxsize=1)
def _package_kind(head: bytes) -> str:
    """Return the format of a package or an XML file; "" for others, `_UNCLEAR` if its beginning fits several."""
    if not head.startswith(_ZIP):
        return office_xml_kind(head)
    if media_type := _OPEN_DOCUMENT.match(head, _FIRST_NAME):
        return _OPEN_DOCUMENT_KINDS.get(media_type[1], "")
    if match := _MAIN_PART.search(_first_part(head)):
        return _MAIN_PART_KINDS[match[0]]
    names = list(_part_names(head))
    if any(name.endswith(b".bin") for name in names if name.startswith(b"xl/wor")):
        return "xlsb"
    folders = (kind for name in names for folder, kind in _FOLDER_KINDS.items() if name.startswith(folder))
    return next(folders, _UNCLEAR if any(name.startswith(_PACKAGE_PARTS) for name in names) else "")


def _part_names(head: bytes) -> Iterator[bytes]:
    """Yield the names of the parts at the beginning, without those of a nested package."""
    offset = 0
    while offset >= 0 and offset + _PART.size <= len(head):
        flags, n_packed, n_name, n_extra = _PART.unpack_from(head, offset)
        name_offset = offset + _PART.size
        yield head[name_offset : name_offset + n_name].replace(b"\\", b"/")
        end = name_offset + n_name + n_extra
        offset = head.find(_ZIP, end if flags & _IS_STREAMED else end + n_packed)


def _first_part(head: bytes) -> bytes:
    """Return the unpacked list of content types, which most programs write first."""
    match = _CONTENT_TYPES.match(head)
    if not match:
        return b""
    start = match.end() + int.from_bytes(match[1], "little")
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(head[start:], _MAX_LIST)
    except zlib.error:
        return b""


_ZIP: Final = b"PK\3\4"
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FIRST_NAME: Final = 30
_MAX_LIST: Final = 100_000
_UNCLEAR: Final = "?"
_OPEN_DOCUMENT_TYPE: Final = re.compile(rb"application/vnd\.(?:oasis\.opendocument|sun\.xml)\.([a-z]+)")
_OPEN_DOCUMENT: Final = re.compile(rb"mimetype" + _OPEN_DOCUMENT_TYPE.pattern)
"""Media types of OpenDocument and, before that, OpenOffice 1."""

_OPEN_DOCUMENT_KINDS: Final = {
    **dict.fromkeys((b"text", b"writer"), "odt"),
    **dict.fromkeys((b"spreadsheet", b"calc"), "ods"),
    **dict.fromkeys((b"presentation", b"impress"), "odp"),
    **dict.fromkeys((b"graphics", b"draw"), "odg"),
}
_HEAD_BYTES: Final = 8_192
_XML_ROOT: Final = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*+(?:<[?!][^>]*+>\s*+)*+<(?:[\w.-]{1,40}:)?"
    rb"(?P<root>wordDocument|Workbook|package|document)\b(?P<attributes>[^<>]*+)"
)
_WORD_2003: Final = b"wordDocument"
_OFFICE_2003: Final = {
    _WORD_2003: b"schemas.microsoft.com/office/word/2003/wordml",
    b"Workbook": b"urn:schemas-microsoft-com:office:spreadsheet",
}
_FLAT_PACKAGE: Final = b"schemas.microsoft.com/office/2006/xmlPackage"
_FLAT: Final = re.compile(rb"<(?:\w{1,40}:)?document\s[^<>]{0,8000}opendocument")
_CONTENT_TYPES: Final = re.compile(rb"PK\x03\x04.{24}(..)\[Content_Types\]\.xml", re.DOTALL)
_PART: Final = struct.Struct("<6xH10xI4xHH")
"""The header of a part: its flags, and the lengths of its content, name and extra fields."""

_IS_STREAMED: Final = 8
"""The length was unknown when the header was written."""

_MAIN_PART_KINDS: Final = {
    b"wordprocessingml.document.main": "docx",
    b"wordprocessingml.template.main": "docx",
    b"ms-word.document.macroEnabled.main": "docx",
    b"ms-word.template.macroEnabledTemplate.main": "docx",
    b"presentationml.presentation.main": "pptx",
    b"presentationml.template.main": "pptx",
    b"presentationml.slideshow.main": "pptx",
    b"ms-powerpoint.presentation.macroEnabled.main": "pptx",
    b"ms-powerpoint.slideshow.macroEnabled.main": "pptx",
    b"ms-powerpoint.template.macroEnabled.main": "pptx",
    b"spreadsheetml.sheet.main": "xlsx",
    b"spreadsheetml.template.main": "xlsx",
    b"ms-excel.sheet.macroEnabled.main": "xlsx",
    b"ms-excel.template.macroEnabled.main": "xlsx",
    b"ms-excel.addin.macroEnabled.main": "xlsx",
    b"ms-excel.sheet.binary.macroEnabled.main": "xlsb",
    b"ms-visio.drawing": "vsdx",
    b"ms-visio.stencil": "vsdx",
    b"ms-visio.template": "vsdx",
}
_MAIN_PART: Final = re.compile(b"|".join(re.escape(content_type) for content_type in _MAIN_PART_KINDS))
_FOLDER_KINDS: Final = {b"word/": "docx", b"ppt/": "pptx", b"xl/": "xlsx", b"visio/": "vsdx"}
_FOLDER: Final = re.compile(rb"\b(" + b"|".join(_FOLDER_KINDS) + rb")")
_PACKAGE_PARTS: Final = (
    b"[Content_Types].xml",
    b"_rels/.rels",
    b"docProps/",
    b"META-INF/manifest.xml",
    b"content.xml",
    b"mimetype",
)
