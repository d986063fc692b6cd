"""Parsing of a repository's history: each commit is a document of its own, and is read once.

git reads the objects in a worker process, isolated from the repository's configuration: it runs in an empty repository
of our own, with our configuration, that uses the object directory of the other. So no hook, filter, pager, signature,
remote or included file is used, and objects missing from a partial clone are not fetched. References are read here.
Reading 50,000 commits with their files takes git 3 s of processor time and libgit2 27 s; dulwich takes 15 s for a tenth
of them.
"""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from directory_indexer.core.errors import ExtractionError, ReaderError
from directory_indexer.core.files import FileFailure, SourceFile, Stage, clamp_integer
from directory_indexer.core.ids import ContentHash, content_hash
from directory_indexer.core.paths import FilePath, exact_text, members_directory, prefix_of
from directory_indexer.core.safe_open import open_file, path_exists, read_small_file
from directory_indexer.formats.document import Document, FileFacts, Metadata, single_line
from directory_indexer.formats.limited_program import LimitedProgram, ProgramLimits, find_program
from directory_indexer.parsing.contents import Parts
from directory_indexer.parsing.one_file import outcome_of
from directory_indexer.parsing.outcomes import MemberOutcomes, ParsedFile, ParseOutcome, ParseRequest, UnchangedFile
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.reading import FileContent
from directory_indexer.walk.repository import git_history_file, list_references

Outcomes: TypeAlias = Generator[MemberOutcomes, None, ParseOutcome]


def parse_history(request: ParseRequest, policy: ParsePolicy) -> ParseOutcome | Outcomes:
    """Parse the commits that the index does not have; unreachable ones are not read."""
    path = request.source.path
    try:
        source = git_history_file(path, policy.git_history)
        tips = list_references(Path(exact_text(path)))
    except OSError as error:
        return FileFailure(path, Stage.READ, (error.strerror or type(error).__name__).lower())
    if source is None:
        return FileFailure(path, Stage.READ, "it is no longer a git directory")
    seen_ns = time.time_ns()
    of_content = content_hash("\n".join([policy.git_history, *tips]).encode())
    if of_content == request.known_hash:
        return UnchangedFile(source, of_content, seen_ns)
    return _HistoryParser(source, tips, of_content, seen_ns, request, policy).outcomes()


class _HistoryParser:
    """The state of parsing one history."""

    def __init__(
        self,
        source: SourceFile,
        tips: Sequence[str],
        of_content: ContentHash,
        seen_ns: int,
        request: ParseRequest,
        policy: ParsePolicy,
    ) -> None:
        self._source, self._tips, self._hash, self._seen_ns = source, tips, of_content, seen_ns
        self._known = {path for path, known in request.known_members if known is not None}
        self._policy = policy
        self._prefix = f"{prefix_of(members_directory(source.path))}commits{os.sep}"
        self._parts = Parts(FileContent(source, b"", seen_ns), of_content, request.resumption)

    def outcomes(self) -> Outcomes:
        yield self._parts.hand_over()
        try:
            with tempfile.TemporaryDirectory(prefix="dirindex-") as directory:
                git = _Git(Path(directory), Path(exact_text(self._source.path)), self._tips)
                for _ in self._parse(git):
                    if self._parts.is_full:
                        yield self._parts.hand_over()
        except (ExtractionError, OSError) as error:
            yield self._parts.hand_over()
            message = error.message if isinstance(error, ExtractionError) else error.strerror or type(error).__name__
            return FileFailure(self._source.path, Stage.EXTRACT, message)
        yield self._parts.hand_over()
        return ParsedFile(self._source, self._hash, FileFacts("git"), (), seen_ns=self._seen_ns)

    def _parse(self, git: _Git) -> Iterator[None]:
        hashes = git.hashes(self._policy.git_history) if self._tips else []
        paths = {FilePath(self._prefix + commit_hash): commit_hash for commit_hash in hashes}
        kept = self._known.intersection(paths)
        self._parts.keep(sorted(kept))
        yield
        new = [commit_hash for path, commit_hash in paths.items() if path not in kept]
        for commit in git.commits(new):
            number, loss = self._parts.next_step()
            self._parts.take(number, partial(self._outcome, commit, loss))
            yield

    def _outcome(self, commit: Commit, loss: str | None) -> ParseOutcome:
        content = commit.message.encode()
        committed_ns = clamp_integer(commit.committed_at * 1_000_000_000)
        source = SourceFile(FilePath(self._prefix + commit.hash), len(content), committed_ns)
        if loss is not None:
            return FileFailure(source.path, Stage.EXTRACT, loss, source, seen_ns=self._seen_ns)
        file = FileContent(source, content, self._seen_ns)
        return outcome_of(
            file, content_hash(commit.hash.encode()), partial(commit_document, commit, "commit"), self._policy
        )


class _Git:
    """git in an empty repository of our own that uses the objects of another."""

    def __init__(self, directory: Path, repository: Path, tips: Sequence[str]) -> None:
        objects = repository / "objects"
        if _has_alternates(objects):
            raise ExtractionError("it borrows objects from another repository, which are not read")
        self._program = find_program("git")
        if not self._program:
            raise ReaderError("git is not installed, and reading histories needs it")
        self._directory = directory
        self._mark = secrets.token_hex(16)  # names and messages cannot contain NULs, and no repository can predict it
        self._environment = {
            "GIT_DIR": str(directory / "empty"),
            "GIT_OBJECT_DIRECTORY": str(objects),
            **_ISOLATION,
        }
        _make_empty_repository(directory / "empty", is_sha256=any(len(tip) == _SHA256_DIGITS for tip in tips))
        if path_exists(repository / "shallow"):
            shallow = read_small_file(repository / "shallow", open_file)
            (directory / "empty" / "shallow").write_bytes(shallow)
        (directory / "tips").write_text("\n".join(tips) + "\n", encoding="ascii")

    def hashes(self, scope: str) -> list[str]:
        """Return the commits reachable from references within the scope, newest first."""
        limits = (
            () if scope == "all" else (f"--max-count={scope}" if scope.isdecimal() else f"--since={scope}T00:00:00Z",)
        )
        arguments = ("rev-list", "--stdin", "--ignore-missing", *limits)
        return self._run(arguments, self._directory / "tips").content().decode("ascii").split()

    def commits(self, hashes: Sequence[str]) -> Iterator[Commit]:
        """Read commits; git reads the next batch while one is consumed."""
        starts = range(0, len(hashes), _BATCH)
        ahead: _GitRun | None = None
        try:
            for number, start in enumerate((*starts, len(hashes))):
                content = ahead.content() if ahead else b""
                ahead = None
                if start < len(hashes):
                    ahead = self._start_log(number, hashes[start : start + _BATCH])
                yield from _commits_in(content.decode("utf-8", "replace").split("\0"), self._mark)
        finally:
            if ahead:
                ahead.program.end()

    def _start_log(self, number: int, hashes: Sequence[str]) -> _GitRun:
        input_file = self._directory / f"asked-{number}"
        input_file.write_text("\n".join(hashes) + "\n", encoding="ascii")
        log_format = f"%x00{self._mark}%x00%H%x00%an <%ae>%x00%at%x00%ct%x00%B%x00"
        command = ("log", "--stdin", "--no-walk=unsorted", "-z", "--name-only", f"--format={log_format}", *_LOG_OPTIONS)
        return self._run(command, input_file)

    def _run(self, arguments: Sequence[str], input_file: Path) -> _GitRun:
        file = input_file.with_name(f"{input_file.name}-answer")
        with input_file.open("rb") as source, file.open("wb") as output:
            program = LimitedProgram(
                (self._program, *arguments),
                directory=self._directory,
                output=output,
                limits=_LIMITS,
                source=source,
                environment=self._environment,
            )
        return _GitRun(program, file)


class _GitRun(NamedTuple):
    """A running git, and the file of its output."""

    program: LimitedProgram
    file: Path

    def content(self) -> bytes:
        """Wait for the output and return it; it can be read once.

        Raises:
            ReaderError: git fails, or takes too long.
        """
        self.program.finish()
        content = self.file.read_bytes()
        self.file.unlink()
        return content


def _commits_in(output: Sequence[str], mark: str) -> Iterator[Commit]:
    fields = iter(output)
    field = next(fields, None)
    while field is not None:
        if field != mark:
            field = next(fields, None)
            continue
        name, author, written_at, committed_at, message = islice(fields, _FIELDS)
        files: list[str] = []
        while (field := next(fields, None)) is not None and field != mark:
            if named := field.lstrip("\n"):
                files.append(named)
        yield Commit(name, author, _parse_number(written_at), _parse_number(committed_at), message, files)


def _has_alternates(objects: Path) -> bool:
    """Whether objects are outside the repository: then it would expose files outside the tracked directory.

    A link may point to any object directory or file; a pipe would block git.
    """
    directories = [str(objects)]
    while directories:
        with os.scandir(directories.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    directories.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    return True
    return path_exists(objects / "info" / "alternates")


def _make_empty_repository(repository: Path, *, is_sha256: bool) -> None:
    for name in ("objects", "refs"):
        (repository / name).mkdir(parents=True)
    (repository / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    extension = "[extensions]\n\tobjectFormat = sha256\n" if is_sha256 else ""
    core = f"[core]\n\trepositoryformatversion = {int(is_sha256)}\n\tbare = true\n"
    (repository / "config").write_text(core + extension, encoding="ascii")


def _parse_number(text: str) -> int:
    return int(text) if text.lstrip("-").isdecimal() else 0


_BATCH: Final = 5_000
_FIELDS: Final = 5
_SHA256_DIGITS: Final = 64
_LIMITS: Final = ProgramLimits(seconds=600, n_bytes=512_000_000)
_LOG_OPTIONS: Final = (
    *("--encoding=UTF-8", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-mailmap"),
    *("--no-notes", "--no-show-signature", "--no-decorate"),
)
_ISOLATION: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
}


class Commit(NamedTuple):
    """A commit; times are in seconds since the epoch, and `files` are those that differ from its first parent."""

    hash: str
    author: str
    written_at: int
    committed_at: int
    message: str
    files: Sequence[str]


def commit_document(commit: Commit, kind: str) -> Document:
    """Return a commit as a document: its message, and below it the changed files."""
    subject, _, body = commit.message.strip("\n").partition("\n")
    files = [*commit.files[:_MAX_FILES]]
    if len(commit.files) > _MAX_FILES:
        files.append(f"and {len(commit.files) - _MAX_FILES} more")
    parts = (subject, body.strip("\n")[:_MAX_MESSAGE], "\n".join(files))
    text = "\n\n".join(filter(None, parts)).replace("\r\n", "\n").replace("\r", "\n")
    metadata = Metadata(
        authors=(commit.author,), created=_format_time(commit.written_at), modified=_format_time(commit.committed_at)
    )
    return Document(text + "\n", kind, single_line(subject), metadata=metadata)


def _format_time(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


_MAX_FILES: Final = 200
_MAX_MESSAGE: Final = 100_000
