"""Parses containers: their members, at any depth, are documents of their own, and so is the text of a message.

It happens in worker processes alone. What members come to is handed over in parts, so that no container is held in
memory as a whole, and a worker that is lost costs the member that it was about.
"""

from __future__ import annotations

import io
import os
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import takewhile
from typing import BinaryIO, NamedTuple, TypeAlias

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import MAX_DEPTH, Budget
from directory_indexer.extractors.document import FileFacts, Metadata
from directory_indexer.extractors.formats import FORMATS
from directory_indexer.extractors.members import Contents, Member
from directory_indexer.extractors.recognition import format_of
from directory_indexer.extractors.registry import extract_as_text, require_text
from directory_indexer.files import FileFailure, SkippedFile, SkipReason, SourceFile, Stage, storable
from directory_indexer.ids import ContentHash, content_hash, hashes_of
from directory_indexer.parsing.contents import budget_of
from directory_indexer.parsing.correspondence import NO_MAIL, Mail
from directory_indexer.parsing.histories import parse_history
from directory_indexer.parsing.member_paths import MemberPaths, name_of
from directory_indexer.parsing.one_file import outcome_of, parse_content, read_file, where
from directory_indexer.parsing.outcomes import MemberOutcomes, ParsedFile, ParseOutcome, ParseRequest, UnchangedFile
from directory_indexer.parsing.parts import Parts
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.reading import FileContent, LargeFile, open_large
from directory_indexer.parsing.tasks import OUT_OF_MEMORY
from directory_indexer.paths import FilePath, members_directory, prefix_of
from directory_indexer.walker.git_history import is_history
from directory_indexer.walker.ignore import Precedence, rules_for_members

_HEAD_BYTES = 1 << 16
_NO_HASH = ContentHash(b"")
"""Stands for the hash of a container until it has been read to its end."""

_Outcomes: TypeAlias = Generator[MemberOutcomes, None, ParseOutcome]
_FindOut: TypeAlias = Callable[[], ParseOutcome]


def parse_file(request: ParseRequest, policy: ParsePolicy) -> ParseOutcome | _Outcomes:
    """Parse one file; the members of a container come in parts, and the container itself at the end."""
    if is_history(request.source.path):
        return parse_history(request, policy)
    found = read_file(request, policy)
    if isinstance(found, FileContent):
        kind, found_format = format_of(found.source.path, found.content, policy.added)
        if found_format.open is None:
            return parse_content(found, request, policy)
        opened = _Opened(io.BytesIO(found.content), kind, found, content_hash(found.content))
        return _parse_container(opened, request, policy)
    is_large = isinstance(found, SkippedFile) and found.reason is SkipReason.TOO_LARGE
    return _parse_large(found, request, policy) if is_large else found


class _Opened(NamedTuple):
    """A container on disk: `found` has its stamp, and of a large one the first bytes alone."""

    file: BinaryIO
    kind: str
    found: FileContent
    hash: ContentHash


def _parse_large(too_large: ParseOutcome, request: ParseRequest, policy: ParsePolicy) -> _Outcomes:
    try:
        with open_large(request.source, follow_symlinks=policy.follow_symlinks) as large:
            found = FileContent(large.source, large.file.read(_HEAD_BYTES), large.seen_ns)
            kind, found_format = format_of(request.source.path, found.content, policy.added)
            if found_format.open is None:
                return too_large
            large.file.seek(0)
            of_content = yield from _hash_of(large)
            large.file.seek(0)
            outcome = yield from _parse_container(_Opened(large.file, kind, found, of_content), request, policy)
            return FileFailure(large.source.path, Stage.READ, "changes while it is read") if large.is_other else outcome
    except OSError as error:
        return FileFailure(request.source.path, Stage.READ, (error.strerror or type(error).__name__).lower())


def _hash_of(large: LargeFile) -> Generator[MemberOutcomes, None, ContentHash]:
    """Hash a large file, with a sign of life now and then."""
    of_content = _NO_HASH
    for of_content in hashes_of(large.file):
        yield MemberOutcomes(large.source, of_content, large.seen_ns)
    return of_content


def _parse_container(opened: _Opened, request: ParseRequest, policy: ParsePolicy) -> _Outcomes:
    found = opened.found
    if opened.hash == request.known_hash:
        return UnchangedFile(found.source, opened.hash, found.seen_ns)
    if request.broken and opened.hash == request.broken.hash:
        return request.broken._replace(source=found.source, seen_ns=found.seen_ns)
    parts = Parts(found, opened.hash, request.resumption)
    yield parts.hand_over()
    container = _Container(opened, request, policy, parts)
    for _ in container.parse_members():
        if parts.is_full:
            yield parts.hand_over()
    yield parts.hand_over()
    return container.outcome


class _Container:
    """A container on disk, while its members are parsed; `outcome` is then its own."""

    def __init__(self, opened: _Opened, request: ParseRequest, policy: ParsePolicy, parts: Parts) -> None:
        self._opened = opened
        self._policy = policy
        self._parts = parts
        self._budget = budget_of(opened.found.source.size, policy)
        self._known = dict(request.known_members)
        self._known_paths = sorted(self._known)
        self._paths = MemberPaths()
        self._root = self._paths.within(request.source.path)
        self._rules = rules_for_members(policy.members)
        self.outcome: ParseOutcome = _failure(opened.found, "was not read to its end")

    def parse_members(self) -> Iterator[None]:
        """Parse all members, one step after the other, and then the text of the container itself."""
        opened = self._opened
        find_out = yield from self._parse(opened.file, opened.kind, opened.found, self._root, NO_MAIL)
        self.outcome = _of_container(find_out(), opened.hash)

    def _parse(
        self, file: BinaryIO, kind: str, found: FileContent, directory: FilePath, mail: Mail
    ) -> Generator[None, None, _FindOut]:
        """Parse the members of a container, and give what finds out what it comes to itself."""
        path, n_before = found.source.path, self._parts.n_steps
        try:
            contents = _contents(file, kind, self._budget)
            if contents.is_message:
                found, mail = found._replace(inherited=Metadata()), self._mail_of(contents, found)
            for member in contents.members:
                named = member._replace(name=name_of(member, path, self._policy))
                yield from self._parse_member(named, directory, mail)
        except Exception as error:  # noqa: BLE001 - one bad container never stops a run
            return partial(_of_broken, found, error, has_members=self._parts.n_steps > n_before)
        has_members = self._parts.n_steps > n_before
        if contents.document is None or (has_members and not contents.document.text.strip()):
            return lambda: ParsedFile(found.source, _NO_HASH, FileFacts(kind), (), seen_ns=found.seen_ns)
        return partial(outcome_of, found, _NO_HASH, partial(require_text, contents.document), self._policy)

    def _mail_of(self, contents: Contents, found: FileContent) -> Mail:
        known_hash = self._known.get(found.source.path)
        is_known = known_hash is not None and known_hash == content_hash(found.content)
        return Mail(contents.document, masks_secrets=not self._policy.include_secrets, is_known=is_known)

    def _parse_member(self, member: Member, directory: FilePath, mail: Mail) -> Iterator[None]:
        path = self._paths.path_of(member.name, directory)
        modified_ns = storable(member.modified_ns) or self._opened.found.source.mtime_ns
        source = SourceFile(path, len(member.content), modified_ns)
        found = FileContent(source, member.content, self._opened.found.seen_ns, mail.said_of(member))
        decision = self._rules.decide_path(path[len(self._root) + 1 :].split(os.sep), is_directory=False)
        if decision and decision.is_ignored and decision.precedence != Precedence.SECRET:
            self._parts.n_ignored += 1
        elif decision and decision.is_ignored:
            self._take(found, partial(_skipped, source, SkipReason.SECRET, decision.rule.removeprefix("secret: ")))
        elif member.problem is not None:
            self._take(found, partial(_problem, found, member.problem))
        elif not member.content:
            self._take(found, partial(_skipped, source, SkipReason.EMPTY))
        elif (recognised := format_of(path, member.content, self._policy.added))[1].open is not None:
            yield from self._parse_inner(found, recognised[0], mail)
        else:
            request = ParseRequest(source, self._known.get(path) if mail.is_known else None)
            self._take(found, partial(parse_content, found, request, self._policy, self._budget))
        yield
        if self._budget.is_spent:
            raise SkipFileError(SkipReason.TOO_LARGE, "it unpacks to more than is read")

    def _parse_inner(self, found: FileContent, kind: str, mail: Mail) -> Iterator[None]:
        """Parse the members of a container in a container, then the text of that itself, which is another step."""
        path = found.source.path
        if mail.is_known and self._keep(path, content_hash(found.content)):
            return
        number, loss = self._parts.next_step()
        if loss is None and self._budget.depth == MAX_DEPTH:
            loss = f"lies in more containers than are opened ({MAX_DEPTH})"
        if loss is not None:
            self._parts.take(number, partial(_failure, found, loss))
            return
        yield
        self._budget.depth += 1
        directory = self._paths.within(path)
        find_out = yield from self._parse(io.BytesIO(found.content), kind, found, directory, mail)
        self._budget.depth -= 1
        self._take(found, lambda: _of_container(find_out(), content_hash(found.content)))

    def _keep(self, path: FilePath, of_content: ContentHash) -> bool:
        """Keep an inner container with all of its members if the index holds every one of them as it is."""
        if self._known.get(path) != of_content:
            return False
        first = prefix_of(members_directory(path))
        start = bisect_left(self._known_paths, first)
        inner = list(takewhile(lambda one: one.startswith(first), self._known_paths[start:]))
        if not all(self._known[one] for one in inner):
            return False
        self._parts.keep([path, *inner])
        return True

    def _take(self, found: FileContent, find_out: _FindOut) -> None:
        number, loss = self._parts.next_step()
        self._parts.take(number, find_out if loss is None else partial(self._without_parser, found, loss))

    def _without_parser(self, found: FileContent, loss: str) -> ParseOutcome:
        """Tell what becomes of a member over which a worker was lost: source code is taken for plain text."""
        if not format_of(found.source.path, found.content, self._policy.added)[1].is_source_code:
            return _failure(found, loss)
        policy = self._policy._replace(extract=extract_as_text)
        return parse_content(found, ParseRequest(found.source, None), policy)


def _contents(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    opened = FORMATS[kind].open
    if opened is None:
        raise ExtractionError(f"{kind} files hold no members")
    return opened(file, kind, budget)


def _of_broken(found: FileContent, error: Exception, *, has_members: bool) -> ParseOutcome:
    """Tell what becomes of a container that cannot be read to its end; the members before that were read."""
    match error:
        case SkipFileError() if not has_members:
            return _skipped(found.source, error.reason, error.message, found.seen_ns)
        case SkipFileError():
            return _failure(found, f"{error.message}; the members before that are indexed")
        case ExtractionError():
            return _failure(found, error.message)
        case MemoryError():
            return _failure(found, OUT_OF_MEMORY)
    return _failure(found, where(error))


def _of_container(outcome: ParseOutcome, of_content: ContentHash) -> ParseOutcome:
    """Note the hash of the whole container, of which a large one has only the first bytes in memory."""
    return outcome._replace(hash=of_content) if isinstance(outcome, ParsedFile | FileFailure) else outcome


def _skipped(source: SourceFile, reason: SkipReason, detail: str = "", seen_ns: int = 0) -> SkippedFile:
    return SkippedFile(source.path, reason, detail, source, seen_ns)


def _failure(found: FileContent, message: str) -> FileFailure:
    return FileFailure(found.source.path, Stage.EXTRACT, message, found.source, seen_ns=found.seen_ns)


def _problem(found: FileContent, problem: ExtractionError) -> ParseOutcome:
    if isinstance(problem, SkipFileError):
        return _skipped(found.source, problem.reason, problem.message)
    return _failure(found, problem.message)
