"""Paragraphs and headings of OpenDocument text, with their marks."""

from __future__ import annotations

from directory_indexer.extractors.office.odf_flows import Flows
from directory_indexer.extractors.office.odf_lists import HeadingNumbers
from directory_indexer.extractors.office.odf_styles import Styles, number_in


class Paragraphs:
    """Begins and ends paragraphs in the innermost flow."""

    def __init__(self, flows: Flows, styles: Styles) -> None:
        self._flows = flows
        self._styles = styles
        self._headings = HeadingNumbers(styles)

    def begin(self, attributes: dict[str, str]) -> None:
        """Begin a paragraph, which may have the style of a heading."""
        self._open(self._styles.heading_level(attributes.get("style-name", "")), self._flows.current.lists.next_mark())

    def begin_heading(self, attributes: dict[str, str]) -> None:
        """Begin a heading."""
        level = number_in(attributes.get("outline-level", ""), 1)
        mark = self._flows.current.lists.next_mark().strip()
        is_numbered = attributes.get("is-list-header") != "true" and not self._flows.current.story.tables.innermost
        self._open(level, mark or (self._headings.next_mark(level) if is_numbered else ""))

    def end(self) -> None:
        """End a paragraph or a heading."""
        if self._flows.current.forms:
            self._flows.current.story.end_paragraph(*self._flows.current.forms.pop())

    def begin_description(self) -> None:
        """Begin the title or the description of a shape, which is a paragraph."""
        # A title in a paragraph is a field with the title of the document.
        if not self._flows.current.story.is_in_paragraph:
            self._open(0, "")
            self._flows.current.is_described = True

    def end_description(self) -> None:
        """End the title or the description of a shape."""
        if self._flows.current.is_described:
            self._flows.current.is_described = False
            self.end()

    def _open(self, level: int, mark: str) -> None:
        self._flows.current.story.begin_paragraph()
        self._flows.current.forms.append((level, mark))
