"""Nested flows of OpenDocument text, each with paragraphs and lists of its own."""

from __future__ import annotations

from collections.abc import Callable

from directory_indexer.extractors.office.odf_lists import OpenLists
from directory_indexer.extractors.office.odf_styles import Styles
from directory_indexer.extractors.office.stories import Block, Story


class Flow:
    """Text that continues from paragraph to paragraph: the body, a note, a text box."""

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
    """The open flows, the innermost last; the blocks of the body are emitted."""

    def __init__(self, styles: Styles, emit: Callable[[Block], None]) -> None:
        self._styles = styles
        self._last_counts: dict[tuple[str, int], int] = {}
        self._open = [self._new(emit)]

    @property
    def current(self) -> Flow:
        """The innermost flow."""
        return self._open[-1]

    def begin(self) -> Flow:
        """Begin a flow apart from the open paragraph."""
        blocks: list[Block] = []
        flow = self._new(blocks.append)
        flow.blocks = blocks
        self._open.append(flow)
        return flow

    def end(self) -> Flow:
        """End and return the innermost flow."""
        self.current.story.flush()
        return self._open.pop()

    def _new(self, emit: Callable[[Block], None]) -> Flow:
        return Flow(Story(emit), OpenLists(self._styles, self._last_counts))
