"""Stretches of OpenDocument text that stand inside one another, each with paragraphs and lists of its own."""

from __future__ import annotations

from collections.abc import Callable

from directory_indexer.extractors.office.odf_lists import OpenLists
from directory_indexer.extractors.office.odf_styles import Styles
from directory_indexer.extractors.office.stories import Block, Story


class Flow:
    """Text that goes on from paragraph to paragraph: that of the body, of one note, of one text box."""

    def __init__(self, story: Story, lists: OpenLists) -> None:
        self.story = story
        self.lists = lists
        self.blocks: list[Block] = []
        self.forms: list[tuple[int, str]] = []
        """The level and the mark of each open paragraph."""

        self.mark = ""
        self.author = ""
        self.is_author_open = False
        self.is_described = False


class Flows:
    """The flows that are open, the innermost last; that of the body hands on its blocks."""

    def __init__(self, styles: Styles, hand_on: Callable[[Block], None]) -> None:
        self._styles = styles
        self._last_counts: dict[tuple[str, int], int] = {}
        self._open = [self._new(hand_on)]

    @property
    def current(self) -> Flow:
        """The innermost flow."""
        return self._open[-1]

    def begin(self) -> Flow:
        """Begin what stands apart from the open paragraph."""
        blocks: list[Block] = []
        flow = self._new(blocks.append)
        flow.blocks = blocks
        self._open.append(flow)
        return flow

    def end(self) -> Flow:
        """End the innermost flow, and give it."""
        self.current.story.flush()
        return self._open.pop()

    def _new(self, hand_on: Callable[[Block], None]) -> Flow:
        return Flow(Story(hand_on), OpenLists(self._styles, self._last_counts))
