"""Properties in XML: the texts of leaf elements, by their names."""

from __future__ import annotations

from typing import Final

from directory_indexer.extractors.properties import MAX_VALUES


class XmlValues:
    """Collects the texts of elements, up to a limit for each name."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[str]] = {}
        self._text = ""

    def first(self, name: str) -> str:
        """Return the first value of a name; "" if there is none."""
        return next(iter(self.all(name)), "")

    def all(self, name: str) -> tuple[str, ...]:
        """Return the values of a name in order."""
        return tuple(self._by_name.get(name, ()))

    def start(self, _name: str, _attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        self._text = ""

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        if self._text and not self._text.isspace():
            values = self._by_name.setdefault(name, [])
            if len(values) < MAX_VALUES:
                values.append(self._text.strip())
        self._text = ""

    def text(self, text: str) -> None:
        """Handle a run of text."""
        if len(self._text) < _MAX_CHARACTERS:
            self._text += text[:_MAX_CHARACTERS]


_MAX_CHARACTERS: Final = 20_000
