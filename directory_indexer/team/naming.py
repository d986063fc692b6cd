"""Names of documents: ids, file names on disk, and canonical URLs.

An id is derived from the sender's name of a document, so sending it again replaces it.
"""

from __future__ import annotations

import base64
import mimetypes
import os
import re
import unicodedata
from typing import Final

import blake3

from directory_indexer.converting.addresses import address_of
from directory_indexer.errors import UsageError
from directory_indexer.extractors.recognition import expected_format
from directory_indexer.ids import DocId
from directory_indexer.paths import FilePath
from directory_indexer.registry.stored_documents import StoredName

_ID_BYTES: Final = 15
_MOST_BYTES: Final = 1024
_MOST_STORED_BYTES: Final = 120
_MOST_SUFFIX_BYTES: Final = 20
_MOST_SHOWN: Final = 80
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSAFE: Final = re.compile(r'[<>:"|?*!~$%`\\]')
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_PORTS: Final = {"http": 80, "https": 443}


def new_doc_id(collection: str, kind: str, key: str) -> DocId:
    """Derive the id of a document from the sender's name of it: an id, a URL or a file name."""
    digest = blake3.blake3(f"{collection}\0{kind}\0{key}".encode("utf-8", "surrogatepass")).digest(length=_ID_BYTES)
    return DocId(base64.b32encode(digest).decode().lower())


def checked_name(text: str, *, what: str) -> str:
    """Return the sender's name of a document, normalised.

    Raises:
        UsageError: it is blank, too long, or contains control characters.
    """
    text = unicodedata.normalize("NFC", text)
    if not text.strip():
        raise UsageError(f"the {what} is empty", hint=f"leave it out, or give the document a {what}")
    if len(text.encode("utf-8", "surrogatepass")) > _MOST_BYTES:
        raise UsageError(f"the {what} has more than {_MOST_BYTES} bytes", hint="give a shorter one")
    if _CONTROLS.search(text):
        raise UsageError(f"the {what} holds control characters, or is no Unicode", hint="give it without them")
    return text


def printable_name(text: str) -> str:
    """Return the name that a web server chose without control characters."""
    return _CONTROLS.sub("", text)[:_MOST_STORED_BYTES] or "index"


def stored_name(filename: str, *, is_text: bool = False) -> StoredName:
    """Return a file name on disk for the sender's name of a document, safe on every system.

    A text called `report.pdf` is stored as `report.pdf.md`, since it is not a PDF.
    """
    name = re.split(r"[/\\]", filename.strip().rstrip("/\\"))[-1]
    name = _UNSAFE.sub("_", name).rstrip(". ")
    if not name or name.startswith(".") or _RESERVED.fullmatch(name):
        name = f"_{name}"
    name = _shorten(name)
    if is_text and not expected_format(FilePath(name)).is_text:
        name += ".md"
    return StoredName(name)


def name_with_suffix(name: StoredName, media_type: str) -> StoredName:
    """Return a name with the suffix of its media type, if it has none."""
    if os.path.splitext(name)[1]:
        return name
    return StoredName(name + (mimetypes.guess_extension(media_type, strict=False) or ""))


def media_type_of(filename: str, declared: str = "") -> str:
    """Return the media type that the sender declares, or else that of the file name."""
    declared = declared.partition(";")[0].strip().lower()
    if re.fullmatch(r"[a-z0-9!#$&^_.+-]{1,64}/[a-z0-9!#$&^_.+-]{1,64}", declared):
        return declared
    return mimetypes.guess_type(filename, strict=False)[0] or "application/octet-stream"


def canonical_url(text: str) -> str:
    """Return the canonical form of a URL.

    Raises:
        UsageError: it is not an HTTP(S) URL, or contains a password.
    """
    checked_name(text, what="address")
    url = address_of(text.strip())
    port = None if url.port == _PORTS[url.scheme] else url.port
    return str(url.copy_with(port=port, fragment=None, raw_path=url.raw_path or b"/"))


def _shorten(name: str) -> str:
    stem, suffix = os.path.splitext(name)
    if len(suffix.encode()) > _MOST_SUFFIX_BYTES:
        stem, suffix = name, ""
    room = _MOST_STORED_BYTES - len(suffix.encode())
    return stem.encode()[:room].decode("utf-8", "ignore").rstrip(". ") + suffix
