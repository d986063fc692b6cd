"""Where git keeps, beside `.gitignore`, what a user wants ignored; read from git's files without running git.

Of git's configuration the files of the system, the user and the repository are read, with what they include;
conditional includes and settings of a single work tree are not. A repository may be a stranger's: it names no file
outside of itself, whose lines would then be rules to be shown.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from directory_indexer.records import FilePath, lies_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_FILE_BYTES: Final = 1024 * 1024

MAX_INCLUDE_DEPTH: Final = 10
"""As many as git allows."""

_MOST_FILES: Final = 100

_READ_BYTES: Final = 1 << 16
_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*')
_VARIABLE = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?", re.DOTALL)
_VALUE_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|((?:[^"\\#;]|\\.)+)', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "b": "\b"}
_TRUE: Final = frozenset({"true", "yes", "on", "1", ""})


class Repository(NamedTuple):
    """A work tree; `directory` is where git keeps what all work trees of the repository share."""

    top: Path
    directory: Path

    @property
    def exclude_file(self) -> Path:
        """The ignore file that is not shared with others."""
        return self.directory / "info" / "exclude"


class GitSettings(NamedTuple):
    """What git's configuration says about ignoring; `refused` tells what of the repository's own is not used."""

    user_ignore_file: Path | None
    ignore_case: bool
    refused: tuple[str, ...] = ()


class _Variable(NamedTuple):
    key: str
    value: str


def repository_at(directory: Path) -> Repository | None:
    """Find the repository whose work tree starts in a directory."""
    git_directory = _linked(directory / ".git", prefix="gitdir:")
    if not (git_directory / "HEAD").is_file():
        return None
    common = _linked(git_directory / "commondir")
    return Repository(directory, common if common.is_dir() else git_directory)


def repository_around(directory: Path) -> Repository | None:
    """Find the innermost repository that a directory lies in or starts."""
    return next((found for parent in (directory, *directory.parents) if (found := repository_at(parent))), None)


def git_settings(repository: Repository | None) -> GitSettings:
    """Read what the system, the user and the repository have configured.

    Raises:
        OSError: one of the files is there but cannot be read.
    """
    variables = [one for file in _files_of_system_and_user() for one in _variables(file)]
    refused: list[str] = []
    if repository:
        variables += _own_variables(repository, refused)
    values = dict(variables)
    user_ignore_file = values.get("core.excludesfile", str(_config_home() / "git" / "ignore"))
    return GitSettings(
        user_ignore_file=_expanded(user_ignore_file) if user_ignore_file else None,
        ignore_case=values.get("core.ignorecase", "false").lower() in _TRUE,
        refused=tuple(refused),
    )


def within(path: str | Path, repository: Repository) -> str | None:
    """Give the real path of a file that a repository names, or None if it lies outside of the repository."""
    real = os.path.realpath(path)
    borders = (os.path.realpath(repository.top), os.path.realpath(repository.directory))
    return real if any(lies_in(FilePath(real), FilePath(border)) for border in borders) else None


def is_there(path: str | Path) -> bool:
    """Tell whether a file exists, as far as one may look: a home directory may be closed to who runs this."""
    try:
        os.stat(path)
    except (OSError, ValueError):
        return False
    return True


def read_small_file(path: str | Path, open_it: Callable[[str], int] | None = None) -> bytes:
    """Read a file of rules or settings that may be anything, put there by anyone, without ever waiting for it.

    `open_it` opens it without following a link; without it, links are followed.

    Raises:
        OSError: it cannot be read, or is no regular file of a reasonable size.
    """
    path = os.fspath(path)
    flags = os.O_RDONLY | _flag("O_NONBLOCK") | _flag("O_BINARY")
    # Looked at before it is opened, too: a device may do something then.
    _require_regular(path, os.stat(path, follow_symlinks=open_it is None).st_mode)
    descriptor = open_it(path) if open_it else os.open(path, flags)
    content = b""
    try:
        _require_regular(path, os.fstat(descriptor).st_mode)
        while len(content) <= MAX_FILE_BYTES and (further := os.read(descriptor, _READ_BYTES)):
            content += further
    finally:
        os.close(descriptor)
    if len(content) > MAX_FILE_BYTES:
        raise OSError(errno.EFBIG, f"larger than {MAX_FILE_BYTES} bytes", path)
    return content


def _require_regular(path: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a directory", path)
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "a symbolic link, which git does not follow either", path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", path)


def _flag(name: str) -> int:
    # Not every system has every flag.
    return int(getattr(os, name, 0))


def _linked(file: Path, *, prefix: str = "") -> Path:
    """Give the path that a file of git's holds, or that of the file where it is none or a directory."""
    if not file.is_file():
        return file
    content = os.fsdecode(read_small_file(file)).removeprefix(prefix).strip()
    return Path(os.path.normpath(file.parent / content))


def _config_home() -> Path:
    return _expanded(os.environ.get("XDG_CONFIG_HOME") or "~/.config")


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # there is no such home
        return Path(path)


def _files_of_system_and_user() -> Iterator[Path]:
    if os.environ.get("GIT_CONFIG_NOSYSTEM", "false").lower() not in _TRUE:
        yield Path(os.environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    if (only := os.environ.get("GIT_CONFIG_GLOBAL")) is not None:
        yield Path(only)
    else:
        yield _config_home() / "git" / "config"
        yield _expanded("~/.gitconfig")


def _variables(file: Path) -> Iterator[_Variable]:
    """List the variables of a configuration file and of those it includes, in the order in which they count."""
    return _included(file, seen=set(), depth=0, find=lambda path, _: path)


def _own_variables(repository: Repository, refused: list[str]) -> Iterator[_Variable]:
    """List the variables of a repository's own configuration; name those that lead out of it."""

    def find(path: Path, key: str) -> Path | None:
        inside = within(path, repository)
        if inside is None:
            refused.append(f"{key} leads out of the repository: set it in your own git configuration")
        return None if inside is None else Path(inside)

    for variable in _included(repository.directory / "config", seen=set(), depth=0, find=find):
        if variable.key != "core.excludesfile" or not variable.value:
            yield variable
        elif found := find(repository.top / _expanded(variable.value), variable.key):
            yield variable._replace(value=str(found))


def _included(
    file: Path, *, seen: set[Path], depth: int, find: Callable[[Path, str], Path | None]
) -> Iterator[_Variable]:
    if file in seen or not is_there(file):
        return
    seen.add(file)
    if depth > MAX_INCLUDE_DEPTH or len(seen) > _MOST_FILES:
        raise OSError(errno.ELOOP, "too many files include each other", str(file))
    for variable in _assignments(os.fsdecode(read_small_file(file))):
        yield variable
        if variable.key == "include.path":
            path = find(Path(os.path.normpath(file.parent / _expanded(variable.value))), variable.key)
            if path is not None:
                yield from _included(path, seen=seen, depth=depth + 1, find=find)


def _assignments(text: str) -> Iterator[_Variable]:
    section = ""
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        header = _SECTION.match(line)
        if header:
            section = ".".join(name for name in (header[1].lower(), header[2]) if name)
        variable = _VARIABLE.match(line, header.end() if header else 0)
        if variable:
            yield _Variable(f"{section}.{variable[1].lower()}", _value(variable[2] or ""))


def _value(text: str) -> str:
    """Take a value out of its quotes and away from the comment behind it."""
    parts: list[str] = []
    position = 0
    while part := _VALUE_PART.match(text, position):
        position = part.end()
        quoted, plain = part.groups()
        is_last = not _VALUE_PART.match(text, position)
        parts.append(quoted if quoted is not None else plain.rstrip() if is_last else plain)
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), "".join(parts))
