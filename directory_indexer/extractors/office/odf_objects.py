"""Text in the charts and formulas of OpenDocument files, each of which is a document of its own in the package."""

from __future__ import annotations

from typing import Final

from directory_indexer.extractors.packages import Package
from directory_indexer.extractors.xml_events import read_xml


def object_text(package: Package, part: str) -> str:
    """Return the labels of a chart or the source of a formula, one to a line, each once."""
    labels = _Labels()
    read_xml(package.pieces(part), labels, skipped=_SKIPPED)
    return "\n".join(labels.lines)


class _Labels:
    """Paragraphs, without those that are only a number, since the numbers of a chart are in its sheet."""

    def __init__(self) -> None:
        self.lines: dict[str, None] = {}
        self._pieces: list[str] = []
        self._is_text = False
        self._is_number = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "table-cell":
            self._is_number = attributes.get("value-type") in _NUMBERS
        elif name in _LINES:
            self._is_text = not self._is_number

    def text(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        if name == "table-cell":
            self._is_number = False
        elif name in _LINES:
            self._is_text = False
            if line := " ".join("".join(self._pieces).split()):
                self.lines[line] = None
            self._pieces.clear()


_LINES: Final = frozenset({"p", "h", "annotation"})
_NUMBERS: Final = frozenset({"float", "percentage", "currency", "date", "time"})
_SKIPPED: Final = frozenset({"automatic-styles", "tracked-changes", "binary-data"})
