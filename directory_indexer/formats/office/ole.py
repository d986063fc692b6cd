"""Office files from before 2007: OLE files, recognised by the names of their streams, and their metadata.

Encrypted files of newer formats are OLE files, too. olefile reads every property of a summary stream and trusts its
number of values, which may be four billion in eight bytes; so the relevant properties are read here.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import olefile

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.document import Document, Metadata
from directory_indexer.formats.metadata import iso_time, meaningful_title, single_line_value, split_list
from directory_indexer.formats.office.native import read_doc, read_xls
from directory_indexer.formats.office.ppt import read_ppt


def extract_ole(content: bytes, _: str, __: Budget) -> Document:
    """Read a document, a presentation or a workbook, by its content and not by its name.

    Raises:
        SkipFileError: it needs a password, or is an OLE file of another kind.
        ExtractionError: it is damaged.
    """
    try:
        with olefile.OleFileIO(io.BytesIO(content)) as file:
            names = {path[0].casefold(): path[0] for path in file.listdir(streams=True, storages=True) if path}
            if _is_encrypted(file, names):
                raise SkipFileError(SkipReason.ENCRYPTED, "needs a password")
            title, metadata = _read_properties(file)
            slides = _presentation_streams(file, names)
    except _DAMAGE_ERRORS as error:
        raise ExtractionError(f"damaged OLE file: {str(error)[:_MESSAGE_CHARACTERS]}") from error
    read = next((read for name, read in _READERS.items() if name in names), None)
    if read:
        document = read(content)
    elif slides:
        document = read_ppt(*slides)
    else:
        raise SkipFileError(
            SkipReason.BINARY,
            next((_OTHER_KINDS[stream_name] for stream_name in _OTHER_KINDS if stream_name in names), "OLE file"),
        )
    metadata = metadata._replace(n_pages=document.metadata.n_pages)
    return document._replace(title=title or document.title, metadata=metadata)


def _presentation_streams(file: olefile.OleFileIO, names: dict[str, str]) -> tuple[bytes, bytes] | None:
    """Return the streams of a presentation, which may lie in a storage beside those for older programs."""
    storage_name = next((names[stream] for stream in ("pp97_dualstorage",) if stream in names), "")
    streams = [f"{storage_name}/{name}".lstrip("/") for name in ("PowerPoint Document", "Current User")]
    if not file.exists(streams[0]):
        return None
    main, user = (file.openstream(stream).read() if file.exists(stream) else b"" for stream in streams)
    return main, user


def _is_encrypted(file: olefile.OleFileIO, names: dict[str, str]) -> bool:
    return "encryptedpackage" in names or any(
        _has_password(file.openstream(names[stream_name]).read(_MAX_BYTES_BEFORE_PASSWORD))
        for stream_name in _WORKBOOKS
        if stream_name in names
    )


def _has_password(workbook: bytes) -> bool:
    """Whether one of the first records of a workbook describes the encryption of the others."""
    position = 0
    while position + _RECORD_HEADER <= len(workbook):
        record, n_bytes = struct.unpack_from("<HH", workbook, position)
        if record == _FILE_PASS:
            return True
        position += _RECORD_HEADER + n_bytes
    return False


def _read_properties(file: olefile.OleFileIO) -> tuple[str, Metadata]:
    """Return the title and metadata in the summary of an office program; damaged ones are empty."""
    try:
        return read_summary(file.openstream(_SUMMARY).read(MAX_BYTES) if file.exists(_SUMMARY) else b"")
    except _DAMAGE_ERRORS:
        return "", Metadata()


_MESSAGE_CHARACTERS: Final = 100
_DAMAGE_ERRORS: Final = (
    OSError,
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    OverflowError,
    struct.error,
    RecursionError,
)
_READERS: Final[dict[str, Callable[[bytes], Document]]] = {
    "worddocument": read_doc,
    "workbook": read_xls,
    "book": read_xls,
}
_WORKBOOKS: Final = ("workbook", "book")
_RECORD_HEADER: Final = 4
_FILE_PASS: Final = 0x2F
_MAX_BYTES_BEFORE_PASSWORD: Final = 512
_OTHER_KINDS: Final = {
    "visiodocument": "Visio drawing from before 2013",
    "__properties_version1.0": "Outlook message",
    "quill": "Publisher document",
    "pp40": "PowerPoint presentation from before 1997",
}
_SUMMARY: Final = "\x05SummaryInformation"


MAX_BYTES: Final = 1_000_000


def read_summary(stream: bytes) -> tuple[str, Metadata]:
    """Return the title and the metadata in a summary stream; damaged ones are empty."""
    values_by_number = _properties(stream)
    code_page = values_by_number.get(_CODE_PAGE)
    title, subject, author, keywords = (_text(values_by_number.get(number), code_page) for number in _TEXTS)
    return meaningful_title(title), Metadata(
        authors=split_list(author),
        created=_format_time(values_by_number.get(_CREATED)),
        modified=_format_time(values_by_number.get(_SAVED)),
        subject=single_line_value(subject),
        tags=split_list(keywords),
    )


def _properties(stream: bytes) -> dict[int, bytes]:
    """Return the relevant properties by their numbers, each from its type on."""
    try:
        [start] = struct.unpack_from("<I", stream, _FIRST_SECTION_AT)
        _, n_properties = struct.unpack_from("<II", stream, start)
    except struct.error:
        return {}
    index = stream[start + 8 : start + 8 + 8 * n_properties]
    places = struct.iter_unpack("<II", index[: len(index) // 8 * 8])
    return {number: stream[start + offset :][:_MAX_VALUE] for number, offset in places if number in _RELEVANT}


def _text(value: bytes | None, code_page: bytes | None) -> str:
    if not value or len(value) < _LENGTH_END:
        return ""
    kind, length = struct.unpack_from("<II", value)
    if kind == _WIDE_TEXT:
        return value[_LENGTH_END : _LENGTH_END + 2 * length].decode("utf-16-le", "replace").partition("\0")[0]
    if kind not in _TEXT_KINDS:
        return ""
    encoding = _encoding(code_page)
    text = value[_LENGTH_END : _LENGTH_END + length]
    try:
        return text.decode(encoding, "replace").partition("\0")[0]
    except LookupError:
        return text.decode("cp1252", "replace").partition("\0")[0]


def _encoding(code_page: bytes | None) -> str:
    number = struct.unpack_from("<4xH", code_page)[0] if code_page and len(code_page) >= _SHORT_END else 0
    return _ENCODINGS.get(number, f"cp{number}")


def _format_time(value: bytes | None) -> str:
    if not value or len(value) < _TIME_END or value[:4] != _TIME_KIND:
        return ""
    [ticks] = struct.unpack_from("<4xQ", value)
    try:
        time = datetime(1601, 1, 1) + timedelta(microseconds=ticks // 10)  # noqa: DTZ001 - it is in UTC, and formatted as such
    except OverflowError:
        return ""
    return iso_time(f"{time:%Y-%m-%dT%H:%M:%SZ}") if ticks else ""


_FIRST_SECTION_AT: Final = 44
_CODE_PAGE: Final = 1
_TEXTS: Final = (2, 3, 4, 5)
"""Title, subject, author and keywords."""

_CREATED: Final = 12
_SAVED: Final = 13
_RELEVANT: Final = frozenset({_CODE_PAGE, *_TEXTS, _CREATED, _SAVED})
_MAX_VALUE: Final = 20_000
_LENGTH_END: Final = 8
_SHORT_END: Final = 6
_TIME_END: Final = 12
_TIME_KIND: Final = struct.pack("<I", 64)
_TEXT_KINDS: Final = frozenset({8, 30})
_WIDE_TEXT: Final = 31
_ENCODINGS: Final = {0: "cp1252", 1200: "utf-16-le", 10_000: "mac_roman", 65_000: "utf-7", 65_001: "utf-8"}
