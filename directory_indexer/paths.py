"""Paths as they are stored, as the operating system takes them, and as people read them.

Only a `FilePath` is stored or compared; it is made by `file_path` and turned back by `os_path`, so that names which
are not valid Unicode survive SQLite, Qdrant and JSON unchanged.
"""

import os
import re
from typing import NewType

FilePath = NewType("FilePath", str)
"""An absolute path as text that any store can hold: bytes that are no UTF-8 are kept as private-use characters."""


_STAND_IN_OFFSET = 0x100000


# POSIX names hold any byte, which Python shows as one of 128 surrogates; Windows names hold any surrogate.
_FIRST, _LAST = (0xDC80, 0xDCFF) if os.name == "posix" else (0xD800, 0xDFFF)


_SURROGATES = re.compile(f"[{chr(_FIRST)}-{chr(_LAST)}]")


_STAND_INS = re.compile(f"[{chr(_FIRST + _STAND_IN_OFFSET)}-{chr(_LAST + _STAND_IN_OFFSET)}]")


def file_path(path: str | os.PathLike[str]) -> FilePath:
    """Make the storable form of a path that is already absolute and resolved, or of a part of it; never twice."""
    text = os.fspath(path)
    if text.isascii():
        return FilePath(text)
    if os.name == "posix":
        # A name that holds a stand-in itself is kept as bytes that are no Unicode are, byte by byte.
        text = _STAND_INS.sub(lambda found: os.fsencode(found[0]).decode("ascii", "surrogateescape"), text)
    return FilePath(_SURROGATES.sub(lambda found: chr(ord(found[0]) + _STAND_IN_OFFSET), text))


def os_path(path: FilePath) -> str:
    """Turn a stored path back into one that means the same to the operating system, byte by byte."""
    if path.isascii():
        return path
    return _STAND_INS.sub(lambda found: chr(ord(found[0]) - _STAND_IN_OFFSET), path)


def well_formed(text: str) -> str:
    """Write out what is no Unicode in a text for people, which may name paths as the operating system does."""
    return text.encode("utf-8", "backslashreplace").decode()


def lies_in(path: FilePath, directory: FilePath) -> bool:
    """Tell whether a path is a directory or lies below it."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


def prefix_of(directory: FilePath) -> str:
    """Give what the paths of everything in a directory begin with."""
    return directory if directory.endswith(os.sep) else directory + os.sep
