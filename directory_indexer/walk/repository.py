"""Git repositories, read without running git: their ignore rules beside `.gitignore`, and their histories.

Of git's configuration the files of the system, the user and the repository are read, with their includes; conditional
includes and settings of a single work tree are not. A repository is untrusted: it may not name files outside itself,
whose lines would be displayed as rules, nor a git directory that does not refer back to it.

The state of a history is read from the references. In a listing, a history is a file at the path of the git directory,
whose stamp changes whenever a reference does. Only a git directory inside its work tree has one: other work trees of
the repository share its commits.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.core.files import SourceFile, clamp_integer
from directory_indexer.core.ids import content_hash
from directory_indexer.core.paths import FilePath, exact_text, lies_in
from directory_indexer.core.safe_open import open_file, path_exists, read_small_file

MAX_INCLUDE_DEPTH: Final = 10
"""The limit of git."""

_MAX_FILES: Final = 100

_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*')
_VARIABLE = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?", re.DOTALL)
_VALUE_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|((?:[^"\\#;]|\\.)+)', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_CHARACTERS: Final = {"n": "\n", "t": "\t", "b": "\b"}
_TRUE_VALUES: Final = frozenset({"true", "yes", "on", "1", ""})

GIT_DIRECTORY: Final = ".git"
"""The name of a repository's directory in its work tree."""

_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?(?=\s|$)")
_MAX_BYTES: Final = 64 << 20
"""Maximum size of one file of references: a million, each with its name."""


class Repository(NamedTuple):
    """A work tree; `directory` is the git directory shared by all work trees of the repository.

    With a `refusal` that directory is not used, since it does not belong to the work tree.
    """

    top: Path
    directory: Path
    refusal: str = ""

    @property
    def exclude_file(self) -> Path:
        """The ignore file that is not shared with others."""
        return self.directory / "info" / "exclude"


class GitSettings(NamedTuple):
    """Settings of git that concern ignoring; `refused` lists settings of the repository that are not used.

    An ignore file that the repository itself names is a resolved path, and must not be opened through links.
    """

    user_ignore_file: Path | None
    ignore_case: bool
    refused: tuple[str, ...] = ()
    is_named_by_repository: bool = False


def repository_at(directory: Path) -> Repository | None:
    """Return the repository whose work tree starts in a directory.

    Raises:
        OSError: a file of it is there but cannot be read.
    """
    entry = directory / ".git"
    git_directory = _real_path(entry if entry.is_dir() else _path_named_in_file(entry, prefix="gitdir:"))
    if git_directory is None or not (git_directory / "HEAD").is_file():
        return None
    if not _belongs_to(entry, git_directory):
        return Repository(directory, git_directory, "leads to a git directory that does not name it, and is not used")
    common = _real_path(_path_named_in_file(git_directory / "commondir")) or git_directory
    if common not in {git_directory, _shared_by_work_trees(git_directory)} and not _lies_in(common, directory):
        return Repository(directory, git_directory, "shares a directory that is not its own, and is not used")
    return Repository(directory, common if common.is_dir() else git_directory)


def repository_around(directory: Path) -> Repository | None:
    """Return the innermost repository that contains a directory."""
    return next(
        (repository for parent in (directory, *directory.parents) if (repository := repository_at(parent))), None
    )


def git_settings(repository: Repository | None) -> GitSettings:
    """Read the settings of the system, the user and the repository.

    Raises:
        OSError: one of the files is there but cannot be read.
    """
    variables = [variable for file in _files_of_system_and_user() for variable in _read_variables(file)]
    refused: list[str] = []
    own = list(_variables_of_repository(repository, refused)) if repository and not repository.refusal else []
    values = dict(variables + own)
    user_ignore_file = values.get("core.excludesfile", str(_config_home() / "git" / "ignore"))
    return GitSettings(
        user_ignore_file=_expand_user(user_ignore_file) if user_ignore_file else None,
        ignore_case=values.get("core.ignorecase", "false").lower() in _TRUE_VALUES,
        refused=tuple(refused),
        is_named_by_repository=any(variable.key == "core.excludesfile" for variable in own),
    )


def relative_to_repository(path: str | Path, repository: Repository) -> str | None:
    """Return the resolved path of a file that a repository names, or None if it is outside the repository."""
    real = _real_path(path)
    is_inside = real and any(_lies_in(real, border) for border in (repository.top, repository.directory))
    return str(real) if is_inside else None


def is_git_history(path: FilePath) -> bool:
    """Whether a path is that of a history, whose members are commits."""
    return os.path.basename(path) == GIT_DIRECTORY and os.path.isdir(exact_text(path))


def git_history_file(path: FilePath, scope: str) -> SourceFile | None:
    """Return a file record that stamps the history of the git directory at a path, or None if it is no such directory.

    Another scope yields another stamp.

    Raises:
        OSError: a file of it is there and cannot be read.
    """
    directory = Path(exact_text(path))
    if directory.is_symlink() or (directory / "objects").is_symlink() or not (directory / "objects").is_dir():
        return None
    head = os.stat(directory / "HEAD", follow_symlinks=False)
    digest = content_hash("\n".join([scope, *list_references(directory)]).encode())
    # This number changes with the references, whatever the clock of the file system says.
    number = int.from_bytes(digest[:7], "big")
    return SourceFile(path, 1, clamp_integer(head.st_mtime_ns), 0, number)


def list_references(directory: Path) -> list[str]:
    """Return the sorted commits that references of a repository point to, including those of its other work trees.

    Raises:
        OSError: a file of it is there and cannot be read.
    """
    matches = {name for line in _lines(directory) if (name := _HASH.match(line))}
    return sorted({match[0] for match in matches})


class _Variable(NamedTuple):
    key: str
    value: str


def _belongs_to(entry: Path, git_directory: Path) -> bool:
    """Whether a git directory is inside the work tree of `entry`, or refers back to it as git does."""
    return (
        _lies_in(git_directory, entry.parent)
        or _is_of_linked_work_tree(entry, git_directory)
        or _is_of_submodule(entry.parent, git_directory)
    )


def _is_of_linked_work_tree(entry: Path, git_directory: Path) -> bool:
    return bool(_shared_by_work_trees(git_directory)) and _real_path(
        _path_named_in_file(git_directory / "gitdir")
    ) == _real_path(entry)


def _is_of_submodule(top: Path, git_directory: Path) -> bool:
    if any(_lies_in(git_directory, parent / ".git" / "modules") for parent in top.parents):
        return True
    config = git_directory / "config"
    variables = _assignments(os.fsdecode(read_small_file(config, open_file))) if config.is_file() else ()
    work_trees = [variable.value for variable in variables if variable.key == "core.worktree"]
    return bool(work_trees) and _real_path(git_directory / work_trees[-1]) == _real_path(top)


def _shared_by_work_trees(git_directory: Path) -> Path | None:
    return git_directory.parents[1] if git_directory.parent.name == "worktrees" else None


def _path_named_in_file(file: Path, *, prefix: str = "") -> Path | None:
    """Return the path that a file of git's contains, or None if there is no such file."""
    real = _real_path(file)
    if real is None or not real.is_file():
        return None
    content = os.fsdecode(read_small_file(real, open_file)).removeprefix(prefix).strip()
    return Path(os.path.normpath(file.parent / content))


def _real_path(path: str | Path | None) -> Path | None:
    try:
        return None if path is None else Path(os.path.realpath(path))
    except ValueError:  # a NUL, which no path has
        return None


def _lies_in(path: Path, directory: Path) -> bool:
    """Whether a resolved path is, or is below, a directory."""
    return lies_in(str(path), os.path.realpath(directory))


def _config_home() -> Path:
    return _expand_user(os.environ.get("XDG_CONFIG_HOME") or "~/.config")


def _expand_user(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except (RuntimeError, ValueError):  # there is no such home directory, or the name is invalid
        return Path(path)


def _files_of_system_and_user() -> Iterator[Path]:
    if os.environ.get("GIT_CONFIG_NOSYSTEM", "false").lower() not in _TRUE_VALUES:
        yield Path(os.environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    if (only := os.environ.get("GIT_CONFIG_GLOBAL")) is not None:
        yield Path(only)
    else:
        yield _config_home() / "git" / "config"
        yield _expand_user("~/.gitconfig")


def _read_variables(file: Path) -> Iterator[_Variable]:
    """Yield the variables of a configuration file and its includes, in order of precedence."""
    return _variables_with_includes(file, seen=set(), find=lambda path, _: path, read=read_small_file)


def _variables_of_repository(repository: Repository, refused: list[str]) -> Iterator[_Variable]:
    """Yield the variables of a repository's own configuration; paths outside the repository are added to `refused`."""

    def find(path: Path, key: str) -> Path | None:
        inside = relative_to_repository(path, repository)
        if inside is None:
            refused.append(f"{key} leads out of the repository: set it in your own git configuration")
        return None if inside is None else Path(inside)

    config = find(repository.directory / "config", "this file")
    read = partial(read_small_file, open_it=open_file)
    for variable in _variables_with_includes(config, seen=set(), find=find, read=read) if config else ():
        if variable.key != "core.excludesfile" or not variable.value:
            yield variable
        elif ignore_file := find(repository.top / _expand_user(variable.value), variable.key):
            yield variable._replace(value=str(ignore_file))


def _variables_with_includes(
    file: Path,
    *,
    seen: set[Path],
    find: Callable[[Path, str], Path | None],
    read: Callable[[Path], bytes],
    depth: int = 0,
) -> Iterator[_Variable]:
    if file in seen or not path_exists(file):
        return
    seen.add(file)
    if depth > MAX_INCLUDE_DEPTH or len(seen) > _MAX_FILES:
        raise OSError(errno.ELOOP, "too many files include each other", str(file))
    for variable in _assignments(os.fsdecode(read(file))):
        yield variable
        if variable.key == "include.path":
            path = find(Path(os.path.normpath(file.parent / _expand_user(variable.value))), variable.key)
            if path is not None:
                yield from _variables_with_includes(path, seen=seen, find=find, read=read, depth=depth + 1)


def _assignments(text: str) -> Iterator[_Variable]:
    section = ""
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        header = _SECTION.match(line)
        if header:
            section = ".".join(name for name in (header[1].lower(), header[2]) if name)
        variable = _VARIABLE.match(line, header.end() if header else 0)
        if variable:
            yield _Variable(f"{section}.{variable[1].lower()}", _parse_value(variable[2] or ""))


def _parse_value(text: str) -> str:
    """Return a value without its quotes and trailing comment."""
    parts: list[str] = []
    position = 0
    while part := _VALUE_PART.match(text, position):
        position = part.end()
        quoted, plain = part.groups()
        is_last = not _VALUE_PART.match(text, position)
        parts.append(quoted if quoted is not None else plain.rstrip() if is_last else plain)
    return _ESCAPE.sub(lambda match: _ESCAPED_CHARACTERS.get(match[1], match[1]), "".join(parts))


def _lines(directory: Path) -> Iterator[str]:
    yield from _read(directory / "packed-refs")
    yield from _read(directory / "HEAD")
    for place, _, names in os.walk(directory / "refs", onerror=_raise_unless_missing):  # follows no links
        for name in names:
            yield from _read(Path(place) / name)
    for head in sorted((directory / "worktrees").glob("*/HEAD")):
        yield from _read(head)


def _read(path: Path) -> Iterator[str]:
    if path_exists(path):
        yield from read_small_file(path, open_file, most_bytes=_MAX_BYTES).decode("utf-8", "replace").splitlines()


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # there are no references, or one was deleted meanwhile
        raise error
