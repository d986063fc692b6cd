"""Parsing of one file into chunks: reading, extraction, masking of secrets and chunking. Errors are outcomes.

Members of a message inherit its sender, recipients, date and subject. Slides that came by mail are therefore found by
that mail, at any depth, even in an attached archive. A document's own metadata takes precedence, and an attached
message has all of its own.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Final

from directory_indexer.core.errors import ExtractionError, ReaderError, SkipFileError
from directory_indexer.core.files import FileFailure, Scan, SkippedFile, SkipReason, Stage
from directory_indexer.core.ids import ContentHash, content_hash
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.core.safe_open import Opener, open_file
from directory_indexer.formats import recognition
from directory_indexer.formats.containers import Budget, Member
from directory_indexer.formats.document import Description, Document, Metadata
from directory_indexer.formats.format import Format
from directory_indexer.formats.kinds import GROUPS
from directory_indexer.formats.table import FORMATS
from directory_indexer.parsing.outcomes import ParsedFile, ParseOutcome, ParseRequest, UnchangedFile
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.reading import FileContent, read
from directory_indexer.parsing.tasks import OUT_OF_MEMORY
from directory_indexer.walk.ignore import likely_secret_kind

with lazily:
    from directory_indexer import chunking
    from directory_indexer.formats import extraction
    from directory_indexer.formats.html_blocks import read_page
    from directory_indexer.parsing.worker import is_memory_limited
    from directory_indexer.ranking.language_table import language_of_document
    from directory_indexer.secrets.recovery_codes import (
        kind_of_secret_container,
        kind_of_single_secret_file,
        may_be_indexed,
    )
    from directory_indexer.secrets.redaction import RedactedDocument, redact_document

_KEY_STORE_HEAD_BYTES = 1 << 16
_WEB_PAGE_KIND = "html"


class Mail:
    """The message that contains members, or none; `is_known` if the index has its current state."""

    def __init__(self, message: Document | None, *, masks_secrets: bool, is_known: bool) -> None:
        self._message = message
        self._masks_secrets = masks_secrets
        self.is_known = is_known

    def attachment_metadata(self, member: Member) -> Metadata:
        """Return the metadata that a member inherits; without the date if the member has one of its own."""
        return self._metadata._replace(created="") if member.modified_ns else self._metadata

    @cached_property
    def _metadata(self) -> Metadata:
        if self._message is None:
            return Metadata()
        # A secret in the subject may only be recognised by the text of the message.
        message = redact_document(self._message).document if self._masks_secrets else self._message
        return Metadata(
            created=message.metadata.created, **{name: getattr(message.metadata, name) for name in _INHERITED}
        )


_INHERITED: Final = ("sender", "recipients", "copied", "subject")

NO_MAIL: Final = Mail(None, masks_secrets=False, is_known=True)
"""Members outside messages inherit nothing that could change."""


def parse(request: ParseRequest, policy: ParsePolicy) -> ParseOutcome:
    """Parse one file in this process, without limits of time or memory."""
    content = read_file(request, policy)
    return parse_content(content, request, policy) if isinstance(content, FileContent) else content


def read_file(
    request: ParseRequest, policy: ParsePolicy, opener: Opener = open_file
) -> FileContent | SkippedFile | FileFailure:
    """Read the bytes of a file."""
    return read(
        request.source, max_file_size=policy.max_file_size, follow_symlinks=policy.follow_symlinks, opener=opener
    )


def format_of(content: FileContent, policy: ParsePolicy) -> Format:
    """Return the format of a file, by its name and content."""
    return recognition.format_of(content.source.path, content.content, policy.added)[1]


def needs_worker(content: FileContent, policy: ParsePolicy) -> bool:
    """Whether a file, by its name and content, must not be parsed in the indexing process."""
    return format_of(content, policy).needs_worker or _is_fetched_page(content, policy)


def parse_content(
    file: FileContent, request: ParseRequest, policy: ParsePolicy, budget: Budget | None = None
) -> ParseOutcome:
    """Parse the bytes of a file; those of a member share the budget of the file on disk."""
    of_content = content_hash(file.content)
    if of_content == request.known_hash:
        return UnchangedFile(file.source, of_content, file.seen_ns)
    if request.broken and of_content == request.broken.hash:
        return request.broken._replace(source=file.source, seen_ns=file.seen_ns)
    budget = budget or Budget(recognised=policy.recognised)
    if policy.extract is None and _is_fetched_page(file, policy):
        return outcome_of(file, of_content, partial(_read_page, file.content), policy)
    extract = policy.extract or partial(extraction.extract, budget=budget, added=policy.added)
    return outcome_of(file, of_content, partial(extract, file.content, file.source.path), policy)


def outcome_of(
    file: FileContent, of_content: ContentHash, extract: Callable[[], Document], policy: ParsePolicy
) -> ParseOutcome:
    """Return the outcome of a file whose document is extracted by a function."""
    path = file.source.path
    try:
        return _parse_extracted(file, of_content, extract, policy)
    except SkipFileError as error:
        return _skipped_file(file, error.reason, error.message)
    except ReaderError as error:
        return FileFailure(path, Stage.EXTRACT, error.message)
    except ExtractionError as error:
        return FileFailure(path, Stage.EXTRACT, error.message, file.source, of_content, file.seen_ns)
    except MemoryError:
        failure = FileFailure(path, Stage.EXTRACT, OUT_OF_MEMORY)
        return with_content_of(failure, file) if is_memory_limited() else failure
    except Exception as error:  # noqa: BLE001 - one bad file never stops a run
        return FileFailure(path, Stage.EXTRACT, format_origin(error))


def extract_redacted(
    path: FilePath, content: bytes, extract: Callable[[], Document], policy: ParsePolicy
) -> RedactedDocument:
    """Extract a document and mask its secrets.

    Raises:
        SkipFileError: the file is a secret as a whole.
        ExtractionError: raised by the extractor.
    """
    if policy.include_secrets:
        return RedactedDocument(extract())
    if kind := kind_of_secret_container(content[:_KEY_STORE_HEAD_BYTES]):
        raise SkipFileError(SkipReason.SECRET, kind)
    document = extract()
    name = os.path.basename(path)
    redaction = redact_document(document, name)
    kind = redaction.whole_file_kind or kind_of_single_secret_file(name, document.text)
    if (
        kind is None
        and (likely := likely_secret_kind(path))
        and not may_be_indexed(likely, document, redaction.n_masked)
    ):
        kind = likely
    if kind:
        raise SkipFileError(SkipReason.SECRET, kind)
    return redaction


def with_content_of(failure: FileFailure, file: FileContent) -> FileFailure:
    """Return a failure with the content that crashed a parser, so that it is not parsed again."""
    return failure._replace(source=file.source, hash=content_hash(file.content), seen_ns=file.seen_ns)


def format_origin(error: Exception) -> str:
    """Format an exception without its message, since that of an unforeseen exception may quote the file."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {os.path.basename(frame.filename)}, line {frame.lineno}"


def with_description(document: Document, description: Description | None) -> Document:
    """Replace the metadata of a document by that of the sender's description."""
    if description is None:
        return document
    fields = {name: value for name, value in description.metadata._asdict().items() if value}
    title = description.title or document.title
    return document._replace(title=title, metadata=document.metadata._replace(**fields))


def with_inherited(document: Document, inherited: Metadata) -> Document:
    """Add inherited metadata to a document's own."""
    own = document.metadata
    added = {name: value for name in _INHERITED if not getattr(own, name) and (value := getattr(inherited, name))}
    if inherited.created and not (own.created or own.modified):
        added["created"] = inherited.created
    return document._replace(metadata=own._replace(**added)) if added else document


def _is_fetched_page(file: FileContent, policy: ParsePolicy) -> bool:
    """Whether a file is a web page, which is read without menus and banners."""
    path = file.source.path
    if policy.descriptions is None or recognition.format_of(path, file.content, policy.added)[0] != _WEB_PAGE_KIND:
        return False
    description = policy.descriptions.of(path)
    return description is not None and description.is_fetched


def _read_page(content: bytes) -> Document:
    if not content:
        raise SkipFileError(SkipReason.EMPTY, "the file is empty")
    return extraction.require_text(read_page(content, _WEB_PAGE_KIND))


def _parse_extracted(
    file: FileContent, of_content: ContentHash, extract: Callable[[], Document], policy: ParsePolicy
) -> ParseOutcome:
    path = file.source.path
    description = policy.descriptions.of(path) if policy.descriptions else None
    redaction = extract_redacted(
        path, file.content, lambda: with_description(with_inherited(extract(), file.inherited), description), policy
    )
    document = redaction.document
    if document.scans and not document.text.strip():
        return _skipped_file(file, SkipReason.NO_TEXT, _list_pages(document.scans))._replace(scans=document.scans)
    facts = document.facts
    if not facts.language and (document.kind in GROUPS["docs"] or document.kind not in FORMATS):
        facts = facts._replace(language=language_of_document(document.text))
    chunks = chunking.chunk(
        document, policy=policy.chunking, count_tokens=policy.count_tokens, weigh_lines=policy.weigh_lines
    )
    return ParsedFile(
        file.source,
        of_content,
        facts,
        chunks,
        document.page_starts,
        seen_ns=file.seen_ns,
        n_masked=redaction.n_masked,
        metadata=document.metadata,
        scans=document.scans,
    )


def _list_pages(scans: Sequence[Scan]) -> str:
    """Format the state of scanned pages of a file that has nothing else."""
    n_waiting = sum(scan.waits for scan in scans)
    problems = {scan.problem for scan in scans if scan.problem}
    if n_waiting:
        return f"{n_waiting} {'page waits' if n_waiting == 1 else 'pages wait'} for OCR"
    return f"OCR found none; {min(problems)}" if problems else "OCR found none"


def _skipped_file(file: FileContent, reason: SkipReason, detail: str) -> SkippedFile:
    return SkippedFile(file.source.path, reason, detail, file.source, file.seen_ns)
