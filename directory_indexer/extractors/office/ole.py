"""Office files of before 2007: OLE files, recognised by the names of their streams.

Encrypted files of newer formats are OLE files, too.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Final

import olefile

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.document import Document, Metadata
from directory_indexer.extractors.office.legacy import read_doc
from directory_indexer.extractors.office.ole_properties import MAX_BYTES, read_summary
from directory_indexer.extractors.office.ppt import read_ppt
from directory_indexer.extractors.office.workbooks import read_xls
from directory_indexer.files import SkipReason


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
            slides = _presentation(file, names)
    except _DAMAGE as error:
        raise ExtractionError(f"damaged OLE file: {str(error)[:_MESSAGE_CHARACTERS]}") from error
    read = next((read for name, read in _READERS.items() if name in names), None)
    if read:
        document = read(content)
    elif slides:
        document = read_ppt(*slides)
    else:
        raise SkipFileError(
            SkipReason.BINARY,
            next((_OTHERS[stream_name] for stream_name in _OTHERS if stream_name in names), "OLE file"),
        )
    metadata = metadata._replace(n_pages=document.metadata.n_pages)
    return document._replace(title=title or document.title, metadata=metadata)


def _presentation(file: olefile.OleFileIO, names: dict[str, str]) -> tuple[bytes, bytes] | None:
    """Return the streams of a presentation, which may lie in a storage besides those for older programs."""
    within = next((names[stream] for stream in ("pp97_dualstorage",) if stream in names), "")
    streams = [f"{within}/{name}".lstrip("/") for name in ("PowerPoint Document", "Current User")]
    if not file.exists(streams[0]):
        return None
    main, user = (file.openstream(stream).read() if file.exists(stream) else b"" for stream in streams)
    return main, user


def _is_encrypted(file: olefile.OleFileIO, names: dict[str, str]) -> bool:
    return "encryptedpackage" in names or any(
        _has_password(file.openstream(names[stream_name]).read(_PASSWORD_WITHIN))
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
    except _DAMAGE:
        return "", Metadata()


_MESSAGE_CHARACTERS: Final = 100
_DAMAGE: Final = (OSError, ValueError, IndexError, KeyError, TypeError, OverflowError, struct.error, RecursionError)
_READERS: Final[dict[str, Callable[[bytes], Document]]] = {
    "worddocument": read_doc,
    "workbook": read_xls,
    "book": read_xls,
}
_WORKBOOKS: Final = ("workbook", "book")
_RECORD_HEADER: Final = 4
_FILE_PASS: Final = 0x2F
_PASSWORD_WITHIN: Final = 512
_OTHERS: Final = {
    "visiodocument": "Visio drawing of before 2013",
    "__properties_version1.0": "Outlook message",
    "quill": "Publisher document",
    "pp40": "PowerPoint presentation of before 1997",
}
_SUMMARY: Final = "\x05SummaryInformation"
