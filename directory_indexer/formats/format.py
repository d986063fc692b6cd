"""Formats of files: how each is recognised, what people call it, and what reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Literal, NamedTuple, TypeAlias

from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.formats.containers import Budget, Contents
    from directory_indexer.formats.decoding import decode
    from directory_indexer.formats.document import Document, extract_plain


Group: TypeAlias = Literal["code", "docs", "data", "archives", "media"]


class Decoded:
    """An extractor of bytes: decodes them, repaired if need be, for an extractor of text."""

    def __init__(
        self, extract_text: Callable[[str, str], Document], mend: Callable[[bytes], bytes] | None = None
    ) -> None:
        self._extract_text = extract_text
        self._mend = mend

    def __call__(self, content: bytes, kind: str, _: Budget) -> Document:
        """Return the document of a file of a kind."""
        return self._extract_text(decode(self._mend(content) if self._mend else content), kind)


class Format(NamedTuple):
    """A format. Words are separated by blanks, suffixes have no dot, and all are in lower case."""

    group: Group
    suffixes: str
    extract: Callable[[bytes, str, Budget], Document] = Decoded(extract_plain)
    """Returns the document of a file's bytes, of the given kind, within a budget."""

    open: Callable[[BinaryIO, str, Budget], Contents] | None = None
    """Opens a container instead: a file whose members are documents of their own."""

    is_isolated: bool = False
    """Whether it is always read in a worker process, because native code reads it that may crash."""

    sniff: Callable[[bytes, bool], bool] | None = None
    """Whether a file has the format, by its first bytes and whether it has the suffix, which alone proves nothing.

    Binary formats have one, and it comes before every name. It is called for files that have the suffix or begin with
    the `header`, and for no others: so it may stand in the module that reads the format, and is imported with it.
    """

    header: bytes | tuple[bytes, ...] = b""
    """The first bytes of a binary format, from byte `header_at` on, for files without a telling name."""

    header_at: int = 0

    opening: bytes = b""
    """A pattern of how a text of this format begins, for files without a telling name; the first match counts."""

    names: str = ""
    """Names of whole files that have no suffix, or another."""

    aliases: str = ""
    """Other names that people and editors use."""

    version: int = 1
    """Raised when files of this kind yield other documents than before: only they are then read again."""

    is_sampled: bool = False
    """Whether little of a large file is read, so that it is identified by its size, its time and its ends."""

    needs: str = ""
    """The program that reads it; its files are read again when that is installed."""

    @property
    def needs_worker(self) -> bool:
        """Whether it is never read in the indexing process."""
        return self.is_isolated or self.open is not None

    @property
    def is_source_code(self) -> bool:
        """Whether a grammar reads it: native code, without which the file can still be read as plain text."""
        return self.is_isolated and self.is_text

    @property
    def is_text(self) -> bool:
        """Whether a file of this format can be read as plain text, too."""
        return isinstance(self.extract, Decoded) and self.open is None


class AddedFormat(NamedTuple):
    """A format added by the configuration; files with one of its suffixes have it, whatever their content.

    It is sent to worker processes, where all of its files are read. `recipe` is text that changes when files of the
    kind yield other documents than before; `seconds` is the time limit of a file.
    """

    kind: str
    suffixes: tuple[str, ...]
    extract: Callable[[bytes, str, Budget], Document]
    recipe: str
    seconds: int

    @property
    def format(self) -> Format:
        """The format in the form of the built-in formats."""
        return Format("docs", " ".join(self.suffixes), self.extract, is_isolated=True)

    def has(self, name: str) -> bool:
        """Whether a file has this format, by its name in lower case."""
        return name.endswith(tuple(f".{suffix}" for suffix in self.suffixes))
