"""Validation of documents before they are stored: their names, canonical URLs and contents.

An id is derived from the sender's name of a document, so sending it again replaces it; a content that cannot be parsed
must not replace one that can.
"""

from __future__ import annotations

import base64
import mimetypes
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import blake3

from directory_indexer.core.errors import ContentRefusedError, RefusalReason, UsageError
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, source_file
from directory_indexer.core.ids import DocId
from directory_indexer.core.paths import FilePath, containers_around, file_path
from directory_indexer.formats.document import Description
from directory_indexer.formats.recognition import expected_format
from directory_indexer.integrations.converting.fetching import address_of
from directory_indexer.parsing.outcomes import MemberOutcomes, ParsedFile, ParseOutcome, ParseRequest
from directory_indexer.parsing.parse import parse_all
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.secrets.redaction import secret_spans
from directory_indexer.storage.registry.stored_documents import RESERVED_NAMES, StoredName
from directory_indexer.walk.ignore import secret_kind_of_path

_SEND_AGAIN_HINT = "take it out, and send the document again"

_ID_BYTES: Final = 15
_MAX_NAME_BYTES: Final = 1024
_MAX_STORED_BYTES: Final = 120
_MAX_SUFFIX_BYTES: Final = 20
_CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSAFE_CHARACTERS: Final = re.compile(r'[<>:"|?*!~$%`\\]')
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class ContentVerdict(NamedTuple):
    """The contents of a document: passages, masked secrets, and pages that wait for OCR."""

    n_chunks: int = 0
    n_masked: int = 0
    n_waiting_pages: int = 0

    def plus(self, outcome: ParseOutcome) -> ContentVerdict:
        """Return the sum with a part of the document."""
        scans = outcome.scans if isinstance(outcome, ParsedFile | SkippedFile) else ()
        added = self._replace(n_waiting_pages=self.n_waiting_pages + sum(scan.waits for scan in scans))
        if not isinstance(outcome, ParsedFile):
            return added
        return added._replace(n_chunks=self.n_chunks + len(outcome.chunks), n_masked=self.n_masked + outcome.n_masked)


def require_no_secrets(paths: Iterable[str], metadata: Mapping[str, Any], policy: ParsePolicy) -> None:
    """Refuse a secret by the names and paths of its file, and metadata that contain one.

    Raises:
        ContentRefusedError: there is a secret.
    """
    if policy.include_secrets:
        return
    for path in paths:
        if kind := secret_kind_of_path(path.replace("\\", "/").replace("/", os.sep)):
            message = f"'{os.path.basename(path)}' is a secret by its name: {kind}"
            raise ContentRefusedError(RefusalReason.SECRET, message, hint=_SEND_AGAIN_HINT)
    if secret_spans("\n".join(f"{name}: {value}" for name, value in metadata.items())):
        raise ContentRefusedError(
            RefusalReason.SECRET, "the metadata of the document contain a secret", hint=_SEND_AGAIN_HINT
        )


def validate_content(path: Path, policy: ParsePolicy, *, is_fetched: bool, allows_secrets: bool) -> ContentVerdict:
    """Parse content as the index will, and return its verdict.

    Raises:
        ContentRefusedError: nothing in it is searchable, or it contains secrets and must not.
    """
    request = ParseRequest(source_file(file_path(os.path.realpath(path))), None)
    verdict, last = ContentVerdict(), None
    for result in parse_all([request], policy._replace(descriptions=_IncomingDescription(is_fetched))):
        outcomes = [outcome for _, outcome in result.outcomes] if isinstance(result, MemberOutcomes) else [result]
        for outcome in outcomes:
            verdict = verdict.plus(outcome)
        last = None if isinstance(result, MemberOutcomes) else result
    if verdict.n_masked and not allows_secrets:
        raise ContentRefusedError(
            RefusalReason.SECRET,
            f"the document holds what looks like {verdict.n_masked} {'secret' if verdict.n_masked == 1 else 'secrets'}",
            hint=f"{_SEND_AGAIN_HINT}, or allow them: they are masked in the index, and stay in the original",
        )
    if not verdict.n_chunks and not verdict.n_waiting_pages:
        raise _refusal_of_outcome(last)
    return verdict


def derive_doc_id(collection: str, kind: str, key: str) -> DocId:
    """Derive the id of a document from the sender's name of it: an id, a URL or a file name."""
    digest = blake3.blake3(f"{collection}\0{kind}\0{key}".encode("utf-8", "surrogatepass")).digest(length=_ID_BYTES)
    return DocId(base64.b32encode(digest).decode().lower())


def normalise_name(text: str, *, what: str) -> str:
    """Return the sender's name of a document, normalised.

    Raises:
        UsageError: it is blank, too long, or contains control characters.
    """
    text = unicodedata.normalize("NFC", text)
    if not text.strip():
        raise UsageError(f"the {what} is empty", hint=f"leave it out, or give the document a {what}")
    if len(text.encode("utf-8", "surrogatepass")) > _MAX_NAME_BYTES:
        raise UsageError(f"the {what} has more than {_MAX_NAME_BYTES} bytes", hint="give a shorter one")
    if _CONTROL_CHARACTERS.search(text):
        raise UsageError(f"the {what} contains control characters, or is not Unicode", hint="remove them")
    return text


def printable_name(text: str) -> str:
    """Return the name that a web server chose without control characters."""
    return _CONTROL_CHARACTERS.sub("", text)[:_MAX_STORED_BYTES] or "index"


def stored_name(filename: str, *, is_text: bool = False) -> StoredName:
    """Return a file name on disk for the sender's name of a document, safe on every system.

    A text called `report.pdf` is stored as `report.pdf.md`, since it is not a PDF.
    """
    name = re.split(r"[/\\]", filename.strip().rstrip("/\\"))[-1]
    name = _UNSAFE_CHARACTERS.sub("_", name).rstrip(". ")
    if not name or name.startswith(".") or RESERVED_NAMES.fullmatch(name):
        name = f"_{name}"
    name = _shorten_keeping_suffix(name)
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
    normalise_name(text, what="address")
    url = address_of(text.strip())
    port = None if url.port == _DEFAULT_PORTS[url.scheme] else url.port
    return str(url.copy_with(port=port, fragment=None, raw_path=url.raw_path or b"/"))


class _IncomingDescription(NamedTuple):
    """The description of content that is not stored yet."""

    is_fetched: bool

    def of(self, path: FilePath) -> Description:
        return Description(is_fetched=self.is_fetched and not containers_around(path))


def _refusal_of_outcome(outcome: object) -> ContentRefusedError:
    if isinstance(outcome, FileFailure):
        return ContentRefusedError(RefusalReason.UNREADABLE, f"the document cannot be read: {outcome.message}")
    if isinstance(outcome, SkippedFile) and outcome.reason is SkipReason.SECRET:
        return ContentRefusedError(
            RefusalReason.SECRET, f"the document is a secret: {outcome.detail}", hint=_SEND_AGAIN_HINT
        )
    if isinstance(outcome, SkippedFile) and outcome.reason is SkipReason.TOO_LARGE:
        return ContentRefusedError(RefusalReason.TOO_LARGE, "the document is too large to be read")
    if isinstance(outcome, SkippedFile) and outcome.reason in {SkipReason.BINARY, SkipReason.ENCRYPTED}:
        return ContentRefusedError(RefusalReason.UNREADABLE, f"the document cannot be read: it is {outcome.reason}")
    return ContentRefusedError(RefusalReason.EMPTY, "the document holds no text", hint="send one that does")


def _shorten_keeping_suffix(name: str) -> str:
    stem, suffix = os.path.splitext(name)
    if len(suffix.encode()) > _MAX_SUFFIX_BYTES:
        stem, suffix = name, ""
    room = _MAX_STORED_BYTES - len(suffix.encode())
    return stem.encode()[:room].decode("utf-8", "ignore").rstrip(". ") + suffix
