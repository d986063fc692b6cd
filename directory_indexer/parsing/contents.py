"""Reading of the bytes of a file, or of a container member by its path: `reports.zip!/2024/budget.xlsx`.

Names in a container are untrusted. The outcomes of its members are grouped into parts that are sent while it is read.
"""

from __future__ import annotations

import io
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, Final

from directory_indexer.core.errors import ExtractionError
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, source_file
from directory_indexer.core.ids import ContentHash
from directory_indexer.core.paths import FilePath, display, file_path, members_directory, os_path, prefix_of
from directory_indexer.formats.containers import MAX_BYTES, MAX_DEPTH, MAX_MEMBERS, Budget, Member, read_whole
from directory_indexer.formats.recognition import format_of
from directory_indexer.parsing.outcomes import MemberOutcomes, ParsedFile, ParseOutcome, Resumption
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.reading import FileContent, open_large, read
from directory_indexer.secrets.redaction import redact

_HEAD_BYTES = 1 << 16

_BYTES_PER_BYTE: Final = 4
"""A large file may be unpacked to this multiple of its size; a small one to the general limit."""

_BYTES_PER_MEMBER: Final = 1_000


_SEPARATORS = re.compile(r"[/\\]+")
_WINDOWS_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL_OR_DIRECTION = re.compile(r"[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
_MAX_NAME = 200
_MAX_PARTS = 40
_UNNAMED = "unnamed"


def read_content(
    path: FilePath, policy: ParsePolicy, budget: Budget, *, follow_links: bool = False
) -> bytes | SkippedFile | FileFailure:
    """Return the bytes of the file or member at a path, or the outcome that prevents reading it.

    Raises:
        SkipFileError: the budget is spent before the member is met.
        ExtractionError: a container on the way is damaged, or has no such member.
        OSError: the container cannot be opened.
    """
    on_disk = _file_on_disk_of(path)
    if on_disk != path:
        with open_large(source_file(on_disk), follow_symlinks=follow_links) as large:
            return Members(large.file, on_disk, policy, lambda: budget).content(path)
    content = read(source_file(path), max_file_size=policy.max_file_size, follow_symlinks=follow_links)
    if isinstance(content, SkippedFile) and content.reason is SkipReason.TOO_LARGE:
        with open_large(source_file(path), follow_symlinks=follow_links) as large:
            head = large.file.read(_HEAD_BYTES)
            large.file.seek(0)
            # A streamed container may be of any size, up to the budget.
            return read_whole(large.file) if format_of(path, head, policy.added)[1].open else content
    return content if isinstance(content, SkippedFile | FileFailure) else content.content


class Members:
    """The members of an open container; requests in order unpack each of them once.

    The stream of a container cannot seek back: a request for an earlier member restarts it.
    """

    def __init__(self, file: BinaryIO, container: FilePath, policy: ParsePolicy, budget: Callable[[], Budget]) -> None:
        self._file = file
        self._container = container
        self._policy = policy
        self._budget = budget
        self._target = container
        self._ahead: Iterator[tuple[FilePath, Member]] = iter(())

    def content(self, path: FilePath) -> bytes:
        """Return the bytes of a member, at any depth.

        Raises:
            SkipFileError: it is left out, or the budget is spent before it is met.
            ExtractionError: a container on the way is damaged, or has no such member.
        """
        self._target = path
        for members in (self._ahead, self._from_the_start()):
            self._ahead = members
            for at, member in members:
                if at == path:
                    if member.problem is not None:
                        raise member.problem
                    return member.content
        raise ExtractionError(f"{display(self._container)} has no such file")

    def _from_the_start(self) -> Iterator[tuple[FilePath, Member]]:
        self._file.seek(0)
        yield from self._members_within(self._file, self._container, MemberPaths(), self._budget())

    def _members_within(
        self, file: BinaryIO, container: FilePath, paths: MemberPaths, budget: Budget
    ) -> Iterator[tuple[FilePath, Member]]:
        """Yield the members of a container, and of nested containers on the path to the target."""
        head = file.read(_HEAD_BYTES)
        file.seek(0)
        kind, file_format = format_of(container, head, self._policy.added)
        if file_format.open is None or budget.depth > MAX_DEPTH:
            raise ExtractionError(f"{display(container)} holds no files")
        directory = paths.within(container)
        for member in file_format.open(file, kind, budget).members:
            at = paths.path_of(member_name(member, container, self._policy), directory)
            yield at, member
            if self._target.startswith(prefix_of(paths.within(at))):
                budget.depth += 1
                yield from self._members_within(io.BytesIO(member.content), at, paths, budget)
                budget.depth -= 1


def container_budget(size: int, policy: ParsePolicy) -> Budget:
    """Return the budget for reading the members of a container of a size."""
    return Budget(
        n_bytes=MAX_BYTES + _BYTES_PER_BYTE * size,
        n_members=MAX_MEMBERS + size // _BYTES_PER_MEMBER,
        member_bytes=policy.max_file_size,
        recognised=policy.recognised,
    )


class MemberPaths:
    """The paths of all members of one file on disk: unique, and different from all paths on disk."""

    def __init__(self) -> None:
        self._n_uses: Counter[str] = Counter()

    def within(self, container: FilePath) -> FilePath:
        """Return the path of the virtual directory of a container's members.

        If a directory of this name exists on disk, another name is used.
        """
        directory = members_directory(container)
        while os.path.lexists(os_path(directory)):
            directory = members_directory(directory)
        return directory

    def path_of(self, name: str, directory: FilePath) -> FilePath:
        """Return a safe and unique path for a member."""
        path = prefix_of(directory) + file_path(safe_relative_path(name).replace("/", os.sep))
        self._n_uses[path] += 1
        if self._n_uses[path] == 1:
            return FilePath(path)
        stem, suffix = os.path.splitext(path)
        return self.path_of(f"{stem[len(prefix_of(directory)) :]} ({self._n_uses[path]}){suffix}", directory)


def member_name(member: Member, container: FilePath, policy: ParsePolicy) -> str:
    """Return the name of a member with its secrets masked; an unnamed one is called as its container."""
    name = member.name or os.path.splitext(os.path.basename(container))[0]
    return name if policy.include_secrets else redact(name)[0]


def safe_relative_path(name: str) -> str:
    """Return a safe relative path: without drive, root, `..` or control characters, and of bounded length."""
    parts = [_CONTROL_OR_DIRECTION.sub("\ufffd", part) for part in _SEPARATORS.split(name)]
    if parts and _WINDOWS_DRIVE.fullmatch(parts[0]):
        parts = parts[1:]
    kept = [_shorten_name(part) for part in parts if part.strip(". ")]
    return "/".join(kept[-_MAX_PARTS:]) or _UNNAMED


def _file_on_disk_of(path: FilePath) -> FilePath:
    """Return the file on disk that contains the member at a path, or the path itself if it is not a member."""
    outer = path
    while not os.path.lexists(os_path(outer)):
        directory, _, _ = outer.rpartition(f"!{os.sep}")
        if not directory:
            return path
        outer = FilePath(directory.rstrip("!"))
    return outer if os.path.isfile(os_path(outer)) else path


def _shorten_name(name: str) -> str:
    if len(name) <= _MAX_NAME:
        return name
    stem, suffix = os.path.splitext(name)
    suffix = suffix[:20]
    return stem[: _MAX_NAME - len(suffix)] + suffix


_MAX_OUTCOMES = 64
_MAX_CHARACTERS = 1_000_000
_MAX_SECONDS = 0.5


class Parts:
    """The outcomes that were not sent yet.

    After a crash, previous steps are counted but skipped, and each step is a part of its own, so that it is known which
    one causes another crash.
    """

    def __init__(self, content: FileContent, of_content: ContentHash, resumption: Resumption | None) -> None:
        self._content, self._hash = content, of_content
        self._is_careful = resumption is not None
        self._resumption = resumption or Resumption(0)
        self._broken = dict(self._resumption.broken)
        self.n_steps = 0
        self.n_ignored = 0
        self._start()

    def next_step(self) -> tuple[int, str | None]:
        """Return the number of the next step, and the message of the crash that it caused, if any."""
        number = self.n_steps
        self.n_steps += 1
        return number, self._broken.get(number)

    def take(self, number: int, find_out: Callable[[], ParseOutcome]) -> None:
        """Compute and record the outcome of a step, unless it was done before."""
        if number < self._resumption.n_done:
            return
        outcome = find_out()
        self._outcomes.append((number, outcome))
        if isinstance(outcome, ParsedFile):
            self._n_characters += sum(len(chunk.text) for chunk in outcome.chunks)

    def keep(self, paths: Sequence[FilePath]) -> None:
        """Record unchanged members."""
        self._kept += paths

    @property
    def is_full(self) -> bool:
        """Whether it is time to send the part."""
        return (
            self._is_careful
            or len(self._outcomes) >= _MAX_OUTCOMES
            or self._n_characters >= _MAX_CHARACTERS
            or time.monotonic() >= self._ends
        )

    def hand_over(self) -> MemberOutcomes:
        """Return the part and start another one."""
        source, seen_ns = self._content.source, self._content.seen_ns
        n_done = max(self.n_steps, self._resumption.n_done)
        outcomes, kept = tuple(self._outcomes), tuple(self._kept)
        part = MemberOutcomes(source, self._hash, seen_ns, n_done, outcomes, kept, self.n_ignored)
        self._start()
        return part

    def _start(self) -> None:
        self._outcomes: list[tuple[int, ParseOutcome]] = []
        self._kept: list[FilePath] = []
        self.n_ignored = 0
        self._n_characters = 0
        self._ends = time.monotonic() + _MAX_SECONDS
