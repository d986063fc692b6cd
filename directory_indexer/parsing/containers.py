"""Parsing of containers: their members, at any depth, are documents of their own, and so is the text of a message.

Runs in worker processes only. Outcomes of members are returned in parts, so that no container is held in memory as a
whole, and the loss of a worker costs only the member in progress.
"""

from __future__ import annotations

import io
import os
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import takewhile
from typing import BinaryIO, NamedTuple, TypeAlias

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, SourceFile, Stage, clamp_integer
from directory_indexer.core.ids import ContentHash, content_hash, hashes_of
from directory_indexer.core.paths import FilePath, members_directory, prefix_of
from directory_indexer.formats.containers import MAX_DEPTH, Budget, Contents, Member
from directory_indexer.formats.document import FileFacts, Metadata
from directory_indexer.formats.extraction import extract_as_text, require_text
from directory_indexer.formats.recognition import format_of
from directory_indexer.formats.table import FORMATS
from directory_indexer.parsing.contents import MemberPaths, Parts, container_budget, member_name
from directory_indexer.parsing.histories import Outcomes, parse_history
from directory_indexer.parsing.one_file import NO_MAIL, Mail, format_origin, outcome_of, parse_content, read_file
from directory_indexer.parsing.outcomes import MemberOutcomes, ParsedFile, ParseOutcome, ParseRequest, UnchangedFile
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.reading import FileContent, LargeFile, open_large
from directory_indexer.parsing.tasks import OUT_OF_MEMORY
from directory_indexer.walk.ignore import Precedence, rules_for_members
from directory_indexer.walk.repository import is_git_history

_HEAD_BYTES = 1 << 16
_SAMPLE_BYTES = 1 << 20
_NO_HASH = ContentHash(b"")
"""Stands for the hash of a container until it has been read to its end."""

_ComputeOutcome: TypeAlias = Callable[[], ParseOutcome]


def parse_file(request: ParseRequest, policy: ParsePolicy) -> ParseOutcome | Outcomes:
    """Parse one file; outcomes of a container's members are yielded in parts, and that of the container last."""
    if is_git_history(request.source.path):
        return parse_history(request, policy)
    content = read_file(request, policy)
    if isinstance(content, FileContent):
        kind, file_format = format_of(content.source.path, content.content, policy.added)
        if file_format.open is None:
            return parse_content(content, request, policy)
        opened = _OpenedContainer(io.BytesIO(content.content), kind, content, content_hash(content.content))
        return _parse_container(opened, request, policy)
    is_large = isinstance(content, SkippedFile) and content.reason is SkipReason.TOO_LARGE
    return _parse_large(content, request, policy) if is_large else content


class _OpenedContainer(NamedTuple):
    """An open container: `content` has its stamp, and for a large one only the first bytes."""

    file: BinaryIO
    kind: str
    content: FileContent
    hash: ContentHash


def _parse_large(too_large: ParseOutcome, request: ParseRequest, policy: ParsePolicy) -> Outcomes:
    try:
        with open_large(request.source, follow_symlinks=policy.follow_symlinks) as large:
            content = FileContent(large.source, large.file.read(_HEAD_BYTES), large.seen_ns)
            kind, file_format = format_of(request.source.path, content.content, policy.added)
            if file_format.open is None:
                return too_large
            large.file.seek(0)
            of_content = _sample_hash(large) if file_format.is_sampled else (yield from _hash_of(large))
            large.file.seek(0)
            outcome = yield from _parse_container(
                _OpenedContainer(large.file, kind, content, of_content), request, policy
            )
            return FileFailure(large.source.path, Stage.READ, "changes while it is read") if large.is_other else outcome
    except OSError as error:
        return FileFailure(request.source.path, Stage.READ, (error.strerror or type(error).__name__).lower())


def _sample_hash(large: LargeFile) -> ContentHash:
    """Hash the size, the time and both ends of a large file."""
    source = large.source
    beginning = large.file.read(_SAMPLE_BYTES)
    large.file.seek(max(source.size - _SAMPLE_BYTES, 0))
    return content_hash(b"%d %d " % (source.size, source.mtime_ns) + beginning + large.file.read(_SAMPLE_BYTES))


def _hash_of(large: LargeFile) -> Generator[MemberOutcomes, None, ContentHash]:
    """Hash a large file, with an occasional heartbeat."""
    of_content = _NO_HASH
    for of_content in hashes_of(large.file):
        yield MemberOutcomes(large.source, of_content, large.seen_ns)
    return of_content


def _parse_container(opened: _OpenedContainer, request: ParseRequest, policy: ParsePolicy) -> Outcomes:
    content = opened.content
    if opened.hash == request.known_hash:
        return UnchangedFile(content.source, opened.hash, content.seen_ns)
    if request.broken and opened.hash == request.broken.hash:
        return request.broken._replace(source=content.source, seen_ns=content.seen_ns)
    parts = Parts(content, opened.hash, request.resumption)
    yield parts.hand_over()
    container = _Container(opened, request, policy, parts)
    for _ in container.parse_members():
        if parts.is_full:
            yield parts.hand_over()
    yield parts.hand_over()
    return container.outcome


class _Container:
    """A container while its members are parsed; `outcome` is finally its own."""

    def __init__(self, opened: _OpenedContainer, request: ParseRequest, policy: ParsePolicy, parts: Parts) -> None:
        self._opened = opened
        self._policy = policy
        self._parts = parts
        self._budget = container_budget(opened.content.source.size, policy)
        self._known = dict(request.known_members)
        self._known_paths = sorted(self._known)
        self._paths = MemberPaths()
        self._root = self._paths.within(request.source.path)
        self._rules = rules_for_members(policy.members)
        self.outcome: ParseOutcome = _file_failure(opened.content, "was not read to its end")

    def parse_members(self) -> Iterator[None]:
        """Parse all members step by step, and then the text of the container itself."""
        opened = self._opened
        find_out = yield from self._parse(opened.file, opened.kind, opened.content, self._root, NO_MAIL)
        self.outcome = _with_hash_of_container(find_out(), opened.hash)

    def _parse(
        self, file: BinaryIO, kind: str, content: FileContent, directory: FilePath, mail: Mail
    ) -> Generator[None, None, _ComputeOutcome]:
        """Parse the members of a container, and return a function that parses the container's own text."""
        path, n_before = content.source.path, self._parts.n_steps
        try:
            contents = _open_contents(file, kind, self._budget)
            if contents.is_message:
                content, mail = content._replace(inherited=Metadata()), self._mail_of(contents, content)
            for member in contents.members:
                named = member._replace(name=member_name(member, path, self._policy))
                yield from self._parse_member(named, directory, mail)
        except Exception as error:  # noqa: BLE001 - one bad container never stops a run
            return partial(_outcome_of_broken_container, content, error, has_members=self._parts.n_steps > n_before)
        has_members = self._parts.n_steps > n_before
        if contents.document is None or (has_members and not contents.document.text.strip()):
            return lambda: ParsedFile(content.source, _NO_HASH, FileFacts(kind), (), seen_ns=content.seen_ns)
        return partial(outcome_of, content, _NO_HASH, partial(require_text, contents.document), self._policy)

    def _mail_of(self, contents: Contents, content: FileContent) -> Mail:
        known_hash = self._known.get(content.source.path)
        is_known = known_hash is not None and known_hash == content_hash(content.content)
        return Mail(contents.document, masks_secrets=not self._policy.include_secrets, is_known=is_known)

    def _parse_member(self, member: Member, directory: FilePath, mail: Mail) -> Iterator[None]:
        path = self._paths.path_of(member.name, directory)
        modified_ns = clamp_integer(member.modified_ns) or self._opened.content.source.mtime_ns
        source = SourceFile(path, len(member.content), modified_ns)
        content = FileContent(source, member.content, self._opened.content.seen_ns, mail.attachment_metadata(member))
        decision = self._rules.decide_path(path[len(self._root) + 1 :].split(os.sep), is_directory=False)
        if decision and decision.is_ignored and decision.precedence != Precedence.SECRET:
            self._parts.n_ignored += 1
        elif decision and decision.is_ignored:
            self._take_outcome(
                content, partial(_skipped_file, source, SkipReason.SECRET, decision.rule.removeprefix("secret: "))
            )
        elif member.problem is not None:
            self._take_outcome(content, partial(_outcome_of_problem, content, member.problem))
        elif not member.content:
            self._take_outcome(content, partial(_skipped_file, source, SkipReason.EMPTY))
        elif (recognised := format_of(path, member.content, self._policy.added))[1].open is not None:
            yield from self._parse_inner(content, recognised[0], mail)
        else:
            request = ParseRequest(source, self._known.get(path) if mail.is_known else None)
            self._take_outcome(content, partial(parse_content, content, request, self._policy, self._budget))
        yield
        if self._budget.is_spent:
            raise SkipFileError(SkipReason.TOO_LARGE, "it unpacks to more than the size limit")

    def _parse_inner(self, content: FileContent, kind: str, mail: Mail) -> Iterator[None]:
        """Parse the members of a nested container, then its own text, as a separate step."""
        path = content.source.path
        if mail.is_known and self._keep_if_unchanged(path, content_hash(content.content)):
            return
        number, loss = self._parts.next_step()
        if loss is None and self._budget.depth == MAX_DEPTH:
            loss = f"lies in more containers than are opened ({MAX_DEPTH})"
        if loss is not None:
            self._parts.take(number, partial(_file_failure, content, loss))
            return
        yield
        self._budget.depth += 1
        directory = self._paths.within(path)
        find_out = yield from self._parse(io.BytesIO(content.content), kind, content, directory, mail)
        self._budget.depth -= 1
        self._take_outcome(content, lambda: _with_hash_of_container(find_out(), content_hash(content.content)))

    def _keep_if_unchanged(self, path: FilePath, of_content: ContentHash) -> bool:
        """Keep a nested container with all of its members if the index has every one of them unchanged."""
        if self._known.get(path) != of_content:
            return False
        first = prefix_of(members_directory(path))
        start = bisect_left(self._known_paths, first)
        inner = list(takewhile(lambda member_path: member_path.startswith(first), self._known_paths[start:]))
        if not all(self._known[member_path] for member_path in inner):
            return False
        self._parts.keep([path, *inner])
        return True

    def _take_outcome(self, content: FileContent, find_out: _ComputeOutcome) -> None:
        number, loss = self._parts.next_step()
        self._parts.take(number, find_out if loss is None else partial(self._without_parser, content, loss))

    def _without_parser(self, content: FileContent, loss: str) -> ParseOutcome:
        """Return the outcome of a member that crashed a worker: source code is indexed as plain text."""
        if not format_of(content.source.path, content.content, self._policy.added)[1].is_source_code:
            return _file_failure(content, loss)
        policy = self._policy._replace(extract=extract_as_text)
        return parse_content(content, ParseRequest(content.source, None), policy)


def _open_contents(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    opened = FORMATS[kind].open
    if opened is None:
        raise ExtractionError(f"{kind} files hold no members")
    return opened(file, kind, budget)


def _outcome_of_broken_container(content: FileContent, error: Exception, *, has_members: bool) -> ParseOutcome:
    """Return the outcome of a container that cannot be read to its end; previous members are kept."""
    match error:
        case SkipFileError() if not has_members:
            return _skipped_file(content.source, error.reason, error.message, content.seen_ns)
        case SkipFileError():
            return _file_failure(content, f"{error.message}; the members before that are indexed")
        case ExtractionError():
            return _file_failure(content, error.message)
        case MemoryError():
            return _file_failure(content, OUT_OF_MEMORY)
    return _file_failure(content, format_origin(error))


def _with_hash_of_container(outcome: ParseOutcome, of_content: ContentHash) -> ParseOutcome:
    """Return an outcome with the hash of the whole container, of which only the first bytes are in memory."""
    return outcome._replace(hash=of_content) if isinstance(outcome, ParsedFile | FileFailure) else outcome


def _skipped_file(source: SourceFile, reason: SkipReason, detail: str = "", seen_ns: int = 0) -> SkippedFile:
    return SkippedFile(source.path, reason, detail, source, seen_ns)


def _file_failure(content: FileContent, message: str) -> FileFailure:
    return FileFailure(content.source.path, Stage.EXTRACT, message, content.source, seen_ns=content.seen_ns)


def _outcome_of_problem(content: FileContent, problem: ExtractionError) -> ParseOutcome:
    if isinstance(problem, SkipFileError):
        return _skipped_file(content.source, problem.reason, problem.message)
    return _file_failure(content, problem.message)
