"""Counts of the lists and headings of an OpenDocument text, since their numbers are not stored."""

from __future__ import annotations

from directory_indexer.extractors.office.odf_styles import MAX_LEVELS, Styles, number_in


class HeadingNumbers:
    """Counts the headings of a document."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._counts = [0] * MAX_LEVELS

    def next_mark(self, level: int) -> str:
        """Return the number of the next heading of a level."""
        level = min(max(level, 1), MAX_LEVELS)
        self._counts[level - 1] += 1
        self._counts[level:] = [0] * (MAX_LEVELS - level)
        return self._styles.heading_mark(self._counts[:level])


class OpenLists:
    """The lists around a paragraph, the innermost last; only the first paragraph of an item has its mark."""

    def __init__(self, styles: Styles, last_counts: dict[tuple[str, int], int]) -> None:
        self._styles = styles
        self._last_counts = last_counts
        """The final counts of the last list of each style and level, for lists that continue it."""

        self._open: list[_OpenList] = []

    def begin_list(self, attributes: dict[str, str]) -> None:
        """Begin a list within the open ones; without a style it has that of the list around it."""
        style = attributes.get("style-name") or (self._open[-1].style if self._open else "")
        depth = len(self._open) + 1
        count = self._styles.first_number(style, depth) - 1
        if attributes.get("continue-numbering") == "true" or "continue-list" in attributes:
            count = self._last_counts.get((style, depth), count)
        self._open.append(_OpenList(style, count))

    def end_list(self) -> None:
        """End the innermost list."""
        if self._open:
            depth, ended = len(self._open), self._open.pop()
            self._last_counts[ended.style, depth] = ended.count

    def begin_item(self, attributes: dict[str, str]) -> None:
        """Begin an item, which is counted at its first paragraph."""
        if self._open:
            self._open[-1].is_fresh = True
            start = attributes.get("start-value", "")
            if start:
                self._open[-1].count = number_in(start, 1) - 1

    def end_item(self) -> None:
        """End an item, which may have had no paragraph."""
        if self._open:
            self._open[-1].is_fresh = False

    def next_mark(self) -> str:
        """Return the mark of a paragraph, indented by two blanks for each outer list; "" if it has none."""
        if not self._open or not self._open[-1].is_fresh:
            return ""
        innermost = self._open[-1]
        innermost.is_fresh = False
        innermost.count += 1
        depth = min(len(self._open), MAX_LEVELS)
        mark = self._styles.mark(innermost.style, [open_list.count for open_list in self._open[-depth:]])
        return "  " * (depth - 1) + mark if mark else ""


class _OpenList:
    def __init__(self, style: str, count: int) -> None:
        self.style = style
        self.count = count
        self.is_fresh = False
