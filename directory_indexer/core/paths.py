"""Paths as they are stored, as the operating system takes them, and as people and programs read them.

Only a `FilePath` is stored or compared; it is made by `file_path`, so that names which are not valid Unicode survive
SQLite, Qdrant and JSON unchanged. The operating system gets an `OsPath`, which is not a string: `display` returns text
for people, and `exact_text` for programs.
"""

import os
import re
from typing import NewType

from directory_indexer.core.lazy import lazily

with lazily:
    from urllib.parse import unquote_to_bytes

FilePath = NewType("FilePath", str)
"""An absolute path as text that any store can hold: bytes that are not UTF-8 are mapped to private-use characters."""

_MEMBER_MARK = "!"
_STAND_IN_OFFSET = 0x100000
# POSIX names can contain any byte, which Python decodes as one of 128 surrogates; Windows names any surrogate.
_FIRST_SURROGATE, _LAST_SURROGATE = (0xDC80, 0xDCFF) if os.name == "posix" else (0xD800, 0xDFFF)
_SURROGATES = re.compile(f"[{chr(_FIRST_SURROGATE)}-{chr(_LAST_SURROGATE)}]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_STAND_IN_PATTERN = re.compile(
    f"[{chr(_FIRST_SURROGATE + _STAND_IN_OFFSET)}-{chr(_LAST_SURROGATE + _STAND_IN_OFFSET)}]"
)
_SYSTEM_ERROR_HANDLER = "surrogateescape" if os.name == "posix" else "surrogatepass"
_BYTE_OFFSET = 0xDC00
_FILE_URI = r"(?is)file:(?://(?:localhost)?)?(?P<location>/.*)"
_PATH_WITH_LINES = r"(?s)(?P<path>.+?[^:]):[1-9]\d{0,8}(?:[-:][1-9]\d{0,8})?:?"
_QUOTES = "\"'`"
_MIN_QUOTED_CHARS = 2
_UNDECODED_BYTES = range(_BYTE_OFFSET + 0x80, _BYTE_OFFSET + 0x100)


class OsPath(os.PathLike[str]):
    """A path for `open` and `os`; `str` of it is `display`."""

    __slots__ = ("_exact",)

    def __init__(self, exact: str) -> None:
        self._exact = exact

    def __fspath__(self) -> str:
        return self._exact

    def __str__(self) -> str:
        return well_formed(self._exact)


def file_path(path: str | os.PathLike[str]) -> FilePath:
    """Return the storable form of a path that is already absolute and resolved, or of a part of it; not idempotent."""
    text = os.fspath(path)
    if text.isascii():
        return FilePath(text)
    if os.name == "posix":
        # A name that contains a stand-in character itself is mapped byte by byte, like invalid Unicode.
        text = _STAND_IN_PATTERN.sub(lambda match: os.fsencode(match[0]).decode("ascii", "surrogateescape"), text)
    return FilePath(_SURROGATES.sub(lambda match: chr(ord(match[0]) + _STAND_IN_OFFSET), text))


def resolved_path(path: str | os.PathLike[str]) -> FilePath:
    """Return the absolute path of user input, with `~` and symbolic links resolved."""
    return file_path(os.path.realpath(os.path.expanduser(path)))


def path_of_place(path: str | os.PathLike[str]) -> FilePath:
    """Return the absolute path of a file to write: `~` and links on the way are resolved, but not the file itself."""
    directory, name = os.path.split(os.path.abspath(os.path.expanduser(path)))
    return file_path(os.path.join(os.path.realpath(directory), name))


def os_path(path: FilePath) -> OsPath:
    """Return a stored path for the operating system, byte for byte."""
    return OsPath(exact_text(path))


def exact_text(path: FilePath) -> str:
    """Return a stored path as Python decodes it from the system: invalid Unicode becomes lone surrogates.

    JSON and the arguments of a process can contain these; SQLite, UTF-8 and the MCP protocol cannot.
    """
    if path.isascii():
        return path
    return _STAND_IN_PATTERN.sub(lambda match: chr(ord(match[0]) - _STAND_IN_OFFSET), path)


def moved_below(path: FilePath, directory: FilePath, other: FilePath) -> FilePath:
    """Return a path moved from one directory to another, at the same place below it."""
    return FilePath(other.rstrip(os.sep) + path[len(directory.rstrip(os.sep)) :] or os.sep)


def display(path: FilePath) -> str:
    """Format a stored path for people, with invalid Unicode as escapes."""
    return path if path.isascii() else well_formed(exact_text(path))


def well_formed(text: str) -> str:
    """Escape invalid Unicode in a text for people, which may contain paths of the operating system."""
    return text if text.isascii() else _LONE_SURROGATE.sub(escape_surrogate, text)


def escape_surrogate(match: re.Match[str]) -> str:
    r"""Return a lone surrogate as a Python escape, or as that of its byte (`\xe4`)."""
    number = ord(match[0])
    return f"\\x{number - _BYTE_OFFSET:02x}" if number in _UNDECODED_BYTES else f"\\u{number:04x}"


def unquote_path(text: str) -> str:
    """Return the path in a text as people, editors and assistants write it.

    It may be in quotation marks, a `file:` URI of this machine, or below `~`; any other text is returned unchanged.
    """
    text = text[1:-1] if len(text) > _MIN_QUOTED_CHARS and text[0] == text[-1] and text[0] in _QUOTES else text
    text = path_in_file_uri(text) or text
    return os.path.expanduser(text) if text == "~" or text.startswith(("~/", f"~{os.sep}")) else text


def path_in_file_uri(text: str) -> str | None:
    """Return the path of a `file:` URI of this machine, or None."""
    match = re.fullmatch(_FILE_URI, text)
    if not match:
        return None
    try:
        location = os.fsdecode(unquote_to_bytes(os.fsencode(match["location"])))
    except UnicodeEncodeError:
        return None
    return location.lstrip("/") if os.name == "nt" else location


def without_line_number(text: str) -> str:
    """Return a path without the line numbers that compilers and assistants append: `a.py:12`, `a.py:12-20`."""
    match = re.fullmatch(_PATH_WITH_LINES, text)
    return match["path"] if match else text


def describe_invalid_character(text: str, *, is_from_system: bool = False) -> str:
    """Return what makes a text invalid as an argument, in words; "" if nothing does.

    A text from the system may contain the surrogates by which Python decodes invalid Unicode in names.
    """
    if "\0" in text:
        return "NUL"
    try:
        text.encode("utf-8", _SYSTEM_ERROR_HANDLER if is_from_system else "strict")
    except UnicodeEncodeError:
        return "an unpaired surrogate"
    return ""


def lies_in(path: str, directory: str) -> bool:
    """Whether a path is a directory or below it; both in the same form."""
    return path == directory or path.startswith(prefix_of(directory))


def members_directory(container: FilePath) -> FilePath:
    """Return the virtual directory of a container's members: `reports.zip!`."""
    return FilePath(f"{container}{_MEMBER_MARK}")


def containers_around(path: FilePath) -> list[FilePath]:
    """Return the containers that a member path would be in: `a.zip` for `a.zip!/b`."""
    parts = path.split(f"{_MEMBER_MARK}{os.sep}")
    outer = (f"{_MEMBER_MARK}{os.sep}".join(parts[:n]) for n in range(1, len(parts)))
    return [FilePath(container.rstrip(_MEMBER_MARK)) for container in outer]


def prefix_of(directory: str) -> str:
    """Return the prefix of the paths of everything in a directory."""
    return directory if directory.endswith(os.sep) else directory + os.sep
