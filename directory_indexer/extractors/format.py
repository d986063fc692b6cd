"""What a format is: how it is recognised, what people call it, and what reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Literal, NamedTuple, TypeAlias

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.extractors.budget import Budget
    from directory_indexer.extractors.decoding import decode
    from directory_indexer.extractors.document import Document
    from directory_indexer.extractors.members import Contents
    from directory_indexer.extractors.plain import extract_plain

Group: TypeAlias = Literal["code", "docs", "data", "archives", "media"]


class Decoded:
    """Reads the bytes of a text: decodes them for an extractor that takes text, as they are or once they are mended."""

    def __init__(
        self, extract_text: Callable[[str, str], Document], mend: Callable[[bytes], bytes] | None = None
    ) -> None:
        self._extract_text = extract_text
        self._mend = mend

    def __call__(self, content: bytes, kind: str, _: Budget) -> Document:
        """Turn the bytes of a file into a document of a kind."""
        return self._extract_text(decode(self._mend(content) if self._mend else content), kind)


class Format(NamedTuple):
    """A kind of file: words are separated by blanks, suffixes have no dot, and all are in lower case."""

    group: Group
    suffixes: str
    extract: Callable[[bytes, str, Budget], Document] = Decoded(extract_plain)
    """Turns the bytes of a file into a document of the kind that is given, within a budget."""

    open: Callable[[BinaryIO, str, Budget], Contents] | None = None
    """Reads a container instead: a file whose members are documents of their own."""

    is_isolated: bool = False
    """Whether it is always read in a worker process, for what reads it is native code that may break."""

    sniff: Callable[[bytes, bool], bool] | None = None
    """Tells whether a file has the format by its beginning, and whether it has the suffix, which alone says nothing.

    Binary formats have one, and it comes before every name. It is asked of files that have the suffix or begin with the
    `header`, and of no others: so it may stand in the module that reads the format, and is imported with it.
    """

    header: bytes | tuple[bytes, ...] = b""
    """How a file of a binary format begins whose name says nothing, from the byte `header_at` on."""

    header_at: int = 0

    opening: bytes = b""
    """How a text of this format begins, as a pattern, for files whose names say nothing; the first that fits counts."""

    names: str = ""
    """What whole files are called that have no suffix, or another."""

    aliases: str = ""
    """What else people and editors call it."""

    version: int = 1
    """Raised when files of this kind come to something else than before: they, and no others, are then read again."""

    @property
    def needs_worker(self) -> bool:
        """Tell whether it is never read in the process that indexes."""
        return self.is_isolated or self.open is not None

    @property
    def is_source_code(self) -> bool:
        """Tell whether a grammar reads it: native code that reads text, which can be taken as it is instead."""
        return self.is_isolated and self.is_text

    @property
    def is_text(self) -> bool:
        """Tell whether a file of this format can be read as plain text, too."""
        return isinstance(self.extract, Decoded) and self.open is None
