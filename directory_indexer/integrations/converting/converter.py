"""Conversion of a file, a container member or a document on the web to Markdown, without indexing it.

The metadata become front matter.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

from directory_indexer.core.errors import ExtractionError, SkipFileError, UsageError
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, Stage
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, os_path
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.document import Document, Section
from directory_indexer.formats.kinds import GROUPS
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.tasks import Limits, Task, WorkerFailure, run_tasks

with lazily:
    from directory_indexer.formats.extraction import extract, require_text
    from directory_indexer.formats.html_blocks import read_page
    from directory_indexer.formats.pdf.reader import extract_pdf
    from directory_indexer.formats.recognition import format_of
    from directory_indexer.integrations.converting.destinations import Destinations
    from directory_indexer.integrations.converting.fetching import FetchedContent, fetch
    from directory_indexer.parsing.contents import read_content
    from directory_indexer.parsing.one_file import extract_redacted, format_origin


def is_url(text: str) -> bool:
    """Whether an argument is a URL."""
    return text.lower().startswith(("http://", "https://"))


class Converter:
    """Converts documents, each in a worker process."""

    def __init__(
        self,
        parse_policy: Callable[[], ParsePolicy],
        *,
        destinations: Callable[..., Destinations],
        fetch: Callable[..., FetchedContent] = fetch,
    ) -> None:
        self._parse_policy = parse_policy
        self._destinations = destinations
        self._fetch = fetch

    def convert_file(self, path: FilePath, *, follow_links: bool = True) -> str:
        """Convert a file, or a member of a container by its path in it.

        Raises:
            UsageError: it cannot be read; the message says why.
        """
        if os.path.isdir(os_path(path)):
            raise UsageError(f"{display(path)} is a directory", hint="name a file in it")
        return to_markdown(read_document(ConversionRequest(path, follow_links=follow_links), self._parse_policy()))

    def convert_url(self, url: str, *, allow_private: bool = False) -> str:
        """Convert a document on the web.

        Raises:
            UsageError: the URL is invalid, leads into a private network, or to an unreadable document.
            UnavailableError: the server does not answer as it should.
        """
        fetched = self._fetch(url, destinations=self._destinations(allow_private=allow_private))
        return to_markdown(
            read_document(ConversionRequest(FilePath(fetched.name), fetched.content), self._parse_policy())
        )


_VERBATIM_KINDS: Final = frozenset({"markdown", "text", "wiki", "textile"})
_ROW: Final = re.compile(r"\|.*\|$")
_FENCE: Final = re.compile(r"`{3,}")
_MAX_LEVEL: Final = 6


def to_markdown(document: Document) -> str:
    """Format a document as Markdown with YAML front matter."""
    return f"{_front_matter(document)}{_body(document).strip(chr(10))}\n"


def _front_matter(document: Document) -> str:
    fields = {"title": document.title, "kind": document.kind, **document.metadata._asdict()}
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items() if value]
    return "\n".join(("---", *lines, "---", "", ""))


def _body(document: Document) -> str:
    if document.kind in _VERBATIM_KINDS:
        return document.text
    if document.kind in GROUPS["code"] or (document.kind in GROUPS["data"] and not document.cells):
        fence = "`" * max((len(match[0]) + 1 for match in _FENCE.finditer(document.text)), default=3)
        return f"{fence}{document.kind}\n{document.text.rstrip()}\n{fence}"
    return "\n".join(_lines(document))


def _lines(document: Document) -> Iterator[str]:
    marks = _marks(document)
    position, is_table = 0, False
    for line in document.text.split("\n"):
        end = position + len(line)
        is_row = bool(_ROW.fullmatch(line.strip()))
        for mark in [at for at in marks if position <= at <= end]:
            page, level, title = marks.pop(mark)
            if page:
                yield f"<!-- page {page} -->"
                is_table = False
            if is_row and is_table:  # its first row already is the header
                continue
            if level and title and line.strip() != title:
                yield f"{'#' * level} {title}"
                yield ""
            elif level and title:
                line = f"{'#' * level} {title}"  # noqa: PLW2901 - the same line, marked
        yield line
        if is_row and not is_table:
            yield "|" + " --- |" * max(line.strip().count("|") - 1, 1)
        is_table = is_row
        position = end + 1


def _marks(document: Document) -> dict[int, tuple[int | None, int, str]]:
    """Return what begins at each offset: a page, and a heading with its level."""
    marks: dict[int, tuple[int | None, int, str]] = {}
    before = Section(-1)
    for section in document.sections:
        page = section.page if section.page != before.page else None
        is_new = bool(section.headings) and section.headings != before.headings
        level = min(len(section.headings), _MAX_LEVEL) if is_new else 0
        if page or level:
            marks[section.start] = (page, level, section.headings[-1] if level else "")
        before = section
    return marks


_SECONDS = 120.0
_MEMORY_BYTES = 2 << 30


class ConversionRequest(NamedTuple):
    """A document to read: a file or container member by its path, or fetched bytes with that name."""

    path: FilePath
    content: bytes | None = None
    follow_links: bool = True
    """Whether the path of a file may lead through links."""


def read_document(request: ConversionRequest, policy: ParsePolicy) -> Document:
    """Read a document, with its secrets masked unless the policy includes them.

    Raises:
        UsageError: there is nothing to read, or it is unreadable; the message says why.
        UnavailableError: no worker process can be started.
    """
    task = Task((request,), (policy.limits or Limits(_SECONDS, _MEMORY_BYTES, _SECONDS),))
    [(_, result)] = run_tasks(partial(_document_of, policy=policy), [task], n_workers=1, scratch=policy.scratch)
    if isinstance(result, Document):
        return result
    message = result.message if isinstance(result, WorkerFailure | FileFailure) else _skip_reason(result)
    raise UsageError(f"{display(request.path)} cannot be converted: {message}")


def _skip_reason(skipped: SkippedFile) -> str:
    return ", ".join(filter(None, (skipped.reason, skipped.detail)))


def _document_of(request: ConversionRequest, *, policy: ParsePolicy) -> Document | SkippedFile | FileFailure:
    budget = Budget(member_bytes=policy.max_file_size, recognised=policy.recognised)
    try:
        return _read(request, policy, budget)
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


def _read(request: ConversionRequest, policy: ParsePolicy, budget: Budget) -> Document | SkippedFile | FileFailure:
    path, content, follow_links = request
    source = content if content is not None else read_content(path, policy, budget, follow_links=follow_links)
    return _extracted(source, path, budget, policy) if isinstance(source, bytes) else source


def _extracted(content: bytes, path: FilePath, budget: Budget, policy: ParsePolicy) -> Document:
    """Extract a document for people, with its secrets masked: of an HTML page, tables instead of source lines."""
    kind, _ = format_of(path, content, policy.added)
    if kind == "html":
        return extract_redacted(path, content, lambda: require_text(read_page(content, kind)), policy).document
    if kind == "pdf":
        return extract_redacted(
            path, content, lambda: extract_pdf(content, kind, budget, finds_tables=True), policy
        ).document
    return extract_redacted(path, content, lambda: extract(content, path, budget, policy.added), policy).document
