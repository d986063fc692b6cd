"""Formulas of Word and PowerPoint (ECMA-376, 22.1) on one line, with signs instead of layout."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from directory_indexer.extractors.office.stories import Story


class Formulas:
    """Writes the structure of formulas into a story; their letters and numbers are ordinary text.

    `starts` and `ends` are the handlers of the elements of formulas, by their names.
    """

    def __init__(self, story: Story) -> None:
        self._story = story
        self._brackets: list[list[str]] = []
        self.starts: dict[str, Callable[[dict[str, str]], None]] = {
            "num": lambda _: story.begin_span(),
            "den": lambda _: story.begin_span(),
            "rad": lambda _: story.begin_span(),
            "d": lambda _: self._begin_brackets(),
            "begChr": lambda attributes: self._set_bracket(0, attributes.get("val", "")),
            "endChr": lambda attributes: self._set_bracket(1, attributes.get("val", "")),
        }
        self.ends: dict[str, Callable[[], None]] = {
            "num": lambda: story.write(f"{_operand(story.end_span())}/"),
            "den": lambda: story.write(_operand(story.end_span())),
            "rad": lambda: story.write(f"√{_operand(story.end_span())}"),
            "d": self._end_brackets,
        }

    def _begin_brackets(self) -> None:
        self._brackets.append(["(", ")"])
        self._story.begin_span()

    def _set_bracket(self, side: int, sign: str) -> None:
        if self._brackets:
            self._brackets[-1][side] = sign[:1]

    def _end_brackets(self) -> None:
        opening, closing = self._brackets.pop() if self._brackets else ("", "")
        self._story.write(f"{opening}{self._story.end_span()}{closing}")


def _operand(text: str) -> str:
    text = text.strip()
    return text if _ATOM.fullmatch(text) else f"({text})"


_ATOM: Final = re.compile(r"[^\W\d_]|\d+(?:[.,]\d+)?|\([^()]*\)")
