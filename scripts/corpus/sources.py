"""Public repositories with test files of the formats, each at the commit that figures are of."""

from __future__ import annotations

from typing import Final, NamedTuple

from directory_indexer.formats.table import FORMATS


class Source(NamedTuple):
    """A repository, and the commit of it whose files are taken."""

    repository: str
    commit: str


SOURCES: Final = (
    Source("apache/tika", "2b70202aaec3db48fd5ff4d996d974444a750a11"),
    Source("apache/poi", "a528d43590b3f71aa94310de881a35af887fdd0f"),
    Source("python-openxml/python-docx", "e45454602b53e8e572b179ccf1c91093ec9f4ed7"),
    Source("ocrmypdf/OCRmyPDF", "62b42095eca831faaa3c84ddb699674788c4c1b7"),
    Source("jgm/pandoc", "0a9a2f261510322ee5a33a2a7facce54b8a718ec"),
    Source("jdum/odfdo", "4d3c203e0d37cec7786efea77c36a417426fbfd9"),
    Source("kreuzberg-dev/kreuzberg", "fd569f92627b4e4d9e48003604158686b1cda6ed"),
)

_PLAIN: Final = frozenset(("email", "emlx", "mhtml", "fictionbook", "subtitles", "calendar", "contacts"))
MEASURED: Final = tuple(
    kind
    for kind, file_format in FORMATS.items()
    if file_format.suffixes and (file_format.sniff is not None or file_format.open or kind in _PLAIN)
)
"""The formats that need a reader of their own: all binary ones, and texts with parts or marks of their own."""

SUFFIXES: Final = tuple(f".{suffix}" for kind in MEASURED for suffix in FORMATS[kind].suffixes.split())
MOST_BYTES: Final = 10_000_000
