"""Reading of one file, container member or byte string as a document, in a worker process."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from directory_indexer.core.errors import ExtractionError, SkipFileError, UsageError
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, Stage
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.document import Document
from directory_indexer.formats.extraction import extract, require_text
from directory_indexer.formats.html_blocks import read_page
from directory_indexer.formats.recognition import format_of
from directory_indexer.parsing.contents import read_content
from directory_indexer.parsing.one_file import extract_redacted, format_origin
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.tasks import Limits, Task, WorkerFailure
from directory_indexer.parsing.workers import run_tasks

with lazily:
    from directory_indexer.formats.pdf.reader import extract_pdf

_TIMEOUT_SECONDS = 120.0
_MEMORY_BYTES = 2 << 30


class ConversionRequest(NamedTuple):
    """A document to read: a file or container member by its path, or fetched bytes under that name."""

    path: FilePath
    content: bytes | None = None
    follow_links: bool = True
    """Whether the path of a file may lead through links."""


def read_document(request: ConversionRequest, policy: ParsePolicy) -> Document:
    """Read a document, with its secrets masked unless the policy includes them.

    Raises:
        UsageError: there is nothing to read, or it cannot be read; the message says why.
        UnavailableError: no worker process can be started.
    """
    task = Task((request,), (policy.limits or Limits(_TIMEOUT_SECONDS, _MEMORY_BYTES, _TIMEOUT_SECONDS),))
    [(_, result)] = run_tasks(partial(_document_of, policy=policy), [task], n_workers=1, scratch=policy.scratch)
    if isinstance(result, Document):
        return result
    message = result.message if isinstance(result, WorkerFailure | FileFailure) else _describe_skip(result)
    raise UsageError(f"{display(request.path)} cannot be converted: {message}")


def _describe_skip(skipped: SkippedFile) -> str:
    return ", ".join(filter(None, (skipped.reason, skipped.detail)))


def _document_of(request: ConversionRequest, *, policy: ParsePolicy) -> Document | SkippedFile | FileFailure:
    budget = Budget(member_bytes=policy.max_file_size, recognised=policy.recognised)
    try:
        return _read_within_budget(request, policy, budget)
    except SkipFileError as error:
        if error.reason is SkipReason.SECRET:
            return SkippedFile(request.path, error.reason, error.message)
        return FileFailure(request.path, Stage.EXTRACT, error.message)
    except ExtractionError as error:
        return FileFailure(request.path, Stage.EXTRACT, error.message)
    except OSError as error:
        return FileFailure(request.path, Stage.READ, (error.strerror or type(error).__name__).lower())
    except Exception as error:  # noqa: BLE001 - whatever a parser does over one file
        return FileFailure(request.path, Stage.EXTRACT, format_origin(error))


def _read_within_budget(
    request: ConversionRequest, policy: ParsePolicy, budget: Budget
) -> Document | SkippedFile | FileFailure:
    path, content, follow_links = request
    source = content if content is not None else read_content(path, policy, budget, follow_links=follow_links)
    return _extract_redacted(source, path, budget, policy) if isinstance(source, bytes) else source


def _extract_redacted(content: bytes, path: FilePath, budget: Budget, policy: ParsePolicy) -> Document:
    """Extract a document for people, with its secrets masked: of an HTML page, tables instead of source lines."""
    kind, _ = format_of(path, content, policy.added)
    if kind == "html":
        return extract_redacted(path, content, lambda: require_text(read_page(content, kind)), policy).document
    if kind == "pdf":
        return extract_redacted(
            path, content, lambda: extract_pdf(content, kind, budget, finds_tables=True), policy
        ).document
    return extract_redacted(path, content, lambda: extract(content, path, budget, policy.added), policy).document
