"""Where git keeps, beside `.gitignore`, what a user wants ignored; read from git's files without running git.

Of git's configuration the files of the system, the user and the repository are read, with what they include;
conditional includes and settings of a single work tree are not.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FILE_BYTES: Final = 1024 * 1024

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
    """What git's configuration says about ignoring."""

    user_ignore_file: Path | None
    ignore_case: bool


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
    files = [*_files_of_system_and_user(), *([repository.directory / "config"] if repository else [])]
    values = {key: value for file in files for key, value in _variables(file, seen=set())}
    user_ignore_file = values.get("core.excludesfile", str(_config_home() / "git" / "ignore"))
    return GitSettings(
        user_ignore_file=_expanded(user_ignore_file) if user_ignore_file else None,
        ignore_case=values.get("core.ignorecase", "false").lower() in _TRUE,
    )


def is_there(path: str | Path) -> bool:
    """Tell whether a file exists, as far as one may look: a home directory may be closed to who runs this."""
    try:
        os.stat(path)
    except (OSError, ValueError):
        return False
    return True


def read_small_file(path: str | Path, *, follow_links: bool = True) -> bytes:
    """Read a file of rules or settings that may be anything, put there by anyone, without ever waiting for it.

    Raises:
        OSError: it cannot be read, or is no regular file of a reasonable size.
    """
    _require_regular(path, os.stat(path, follow_symlinks=follow_links).st_mode)
    flags = os.O_RDONLY | _flag("O_NONBLOCK") | _flag("O_BINARY")
    descriptor = os.open(path, flags if follow_links else flags | _flag("O_NOFOLLOW"))
    content = b""
    try:
        while len(content) <= MAX_FILE_BYTES and (further := os.read(descriptor, _READ_BYTES)):
            content += further
    finally:
        os.close(descriptor)
    if len(content) > MAX_FILE_BYTES:
        raise OSError(errno.EFBIG, f"larger than {MAX_FILE_BYTES} bytes", str(path))
    return content


def _require_regular(path: str | Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a directory", str(path))
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "a symbolic link, which git does not follow either", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


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


def _variables(file: Path, *, seen: set[Path]) -> Iterator[tuple[str, str]]:
    """List the variables of a configuration file and of those it includes, in the order in which they count."""
    if file in seen or not is_there(file):
        return
    seen.add(file)
    for key, value in _assignments(os.fsdecode(read_small_file(file))):
        yield key, value
        if key == "include.path":
            yield from _variables(Path(os.path.normpath(file.parent / _expanded(value))), seen=seen)


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    section = ""
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        header = _SECTION.match(line)
        if header:
            section = ".".join(name for name in (header[1].lower(), header[2]) if name)
        variable = _VARIABLE.match(line, header.end() if header else 0)
        if variable:
            yield f"{section}.{variable[1].lower()}", _value(variable[2] or "")


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
