"""Metadata of rich text."""

from __future__ import annotations

from typing import Final

from directory_indexer.extractors.document import Metadata
from directory_indexer.extractors.properties import iso_time, listed, one_value

INFO: Final = frozenset({"title", "subject", "author", "keywords", "creatim", "revtim"})
"""The destinations with a property each."""


class RtfProperties:
    """Collects the properties of a document."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._times: dict[str, dict[str, int]] = {}
        self._n_pages: int | None = None

    @property
    def title(self) -> str:
        """The title."""
        return self._texts.get("title", "")

    @property
    def metadata(self) -> Metadata:
        """The metadata beside the title."""
        return Metadata(
            authors=listed(self._texts.get("author", "")),
            created=self._format_time("creatim"),
            modified=self._format_time("revtim"),
            subject=one_value(self._texts.get("subject", "")),
            tags=listed(self._texts.get("keywords", "")),
            n_pages=self._n_pages or None,
        )

    def add(self, name: str, text: str) -> None:
        """Add the text of the destination of a property."""
        if text.strip():
            self._texts.setdefault(name, text)

    def control(self, destination: str, word: str, number: int | None) -> None:
        """Apply a control word, in the destination of a property or between them."""
        if destination in _TIMES and number is not None:
            self._times.setdefault(destination, {})[word] = number
        elif word == "nofpages":
            self._n_pages = number if number and number > 0 else None

    def _format_time(self, name: str) -> str:
        fields = self._times.get(name, {})
        year, month, day, hour, minute = (fields.get(word, 0) for word in ("yr", "mo", "dy", "hr", "min"))
        return iso_time(f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}")


_TIMES: Final = frozenset({"creatim", "revtim"})
