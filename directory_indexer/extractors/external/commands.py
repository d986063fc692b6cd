"""Commands of the configuration that read a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from directory_indexer.config.extractors import FILE
from directory_indexer.errors import ReaderError, SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.decoding import decode
from directory_indexer.extractors.document import Document
from directory_indexer.extractors.draft import MAX_CHARACTERS
from directory_indexer.extractors.external.processes import LimitedProgram, ProgramLimits
from directory_indexer.extractors.html import extract_html
from directory_indexer.extractors.markdown import extract_markdown
from directory_indexer.extractors.plain import extract_plain
from directory_indexer.files import SkipReason


@dataclass(frozen=True)
class Command:
    """A command that writes the text of a file to its standard output, as text, Markdown or HTML in UTF-8.

    `program` is its full path, "" if it was not found: it runs in workers, which do not have the environment.
    """

    program: str
    arguments: tuple[str, ...]
    suffix: str
    output: str
    seconds: int

    def __call__(self, content: bytes, kind: str, _: Budget) -> Document:
        """Return the output of the command for a file, which it reads from a private copy.

        Raises:
            SkipFileError: it writes more than is read, or no text.
            ReaderError: it cannot be started, fails, or takes too long.
        """
        if not self.program:
            raise ReaderError(f"{self.arguments[0]} is not installed")
        with tempfile.TemporaryDirectory(prefix="dirindex-") as directory:
            path = Path(directory) / f"file.{self.suffix}"
            path.write_bytes(content)
            with tempfile.TemporaryFile(dir=directory) as written:
                arguments = [self.program, *(argument.replace(FILE, str(path)) for argument in self.arguments[1:])]
                limits = ProgramLimits(self.seconds, _MAX_BYTES)
                LimitedProgram(arguments, directory=path.parent, output=written, limits=limits).finish()
                written.seek(0)
                output = written.read(_MAX_BYTES + 1)
        if len(output) > _MAX_BYTES:
            raise SkipFileError(SkipReason.TOO_LARGE, f"{os.path.basename(self.arguments[0])} writes more than is read")
        return _READERS[self.output](decode(output), kind)


_MAX_BYTES: Final = 4 * MAX_CHARACTERS
_READERS: Final[dict[str, Callable[[str, str], Document]]] = {
    "html": extract_html,
    "markdown": extract_markdown,
    "text": extract_plain,
}
