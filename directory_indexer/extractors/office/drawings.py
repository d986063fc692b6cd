"""Text in the drawings of Office documents: charts, diagrams and text boxes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from directory_indexer.extractors.packages import Package, Relation
from directory_indexer.extractors.xml_events import read_xml


def drawing_texts(package: Package, relations: Iterable[Relation]) -> Iterator[str]:
    """Yield the text of each chart and diagram that a part refers to, one paragraph or label to a line."""
    for relation in relations:
        if relation.role in _DRAWINGS:
            labels = _Labels()
            read_xml(package.pieces(relation.part), labels, skipped=_SKIPPED)
            if labels.lines:
                yield "\n".join(labels.lines)
        if relation.role == "drawing":
            yield from drawing_texts(package, _charts(package, relation.part))


def _charts(package: Package, drawing: str) -> Iterator[Relation]:
    return (
        relation
        for relation in package.relations(drawing).values()
        if relation.role in _DRAWINGS and relation.role != "drawing"
    )


class _Labels:
    """The paragraphs of a drawing, and the names of the series and categories of a chart, each text once."""

    def __init__(self) -> None:
        self.lines: dict[str, None] = {}
        self._pieces: list[str] = []
        self._is_text = False

    def start(self, name: str, _: dict[str, str]) -> None:
        self._is_text = name in _LABEL_TEXTS

    def text(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        self._is_text = False
        if name in _LINES and (line := " ".join("".join(self._pieces).split())):
            self.lines[line] = None
        if name in _LINES:
            self._pieces.clear()


_DRAWINGS: Final = frozenset({"chart", "chartEx", "diagramData", "drawing", "chartUserShapes"})
_LABEL_TEXTS: Final = frozenset({"t", "v"})
_LINES: Final = frozenset({"p", "v", "txPr"})
_SKIPPED: Final = frozenset({"numCache", "numLit", "Fallback", "fld"})
"""The numbers of a chart are skipped, since they are in its sheet."""
