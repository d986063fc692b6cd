"""Notes and comments of OpenDocument text, which are kept apart from the paragraph with their mark."""

from __future__ import annotations

from collections.abc import Callable

from directory_indexer.extractors.office.odf_flows import Flows
from directory_indexer.extractors.office.stories import Block, words_of


class Asides:
    """Numbers notes and places them; `comment` takes comments that belong to no paragraph."""

    def __init__(self, flows: Flows, comment: Callable[[str], None] | None) -> None:
        self._flows = flows
        self._comment = comment
        self._n_notes = {"footnote": 0, "endnote": 0}

    def begin_note(self, attributes: dict[str, str]) -> None:
        """Begin a footnote or an endnote, whose mark is in the text."""
        role = "endnote" if attributes.get("note-class") == "endnote" else "footnote"
        self._n_notes[role] += 1
        mark = f"[^{'e' if role == 'endnote' else ''}{self._n_notes[role]}]"
        self._flows.current.story.write(mark)
        self._flows.begin().mark = mark

    def end_note(self) -> None:
        """End a note."""
        note = self._flows.end()
        self._flows.current.story.note(f"{note.mark}: {_line(note.blocks)}")

    def end_annotation(self) -> None:
        """End a comment."""
        annotation = self._flows.end()
        author, text = " ".join(annotation.author.split()), _line(annotation.blocks)
        comment_text = f"{author}: {text}" if author else text
        if not text:
            return
        if self._comment and not self._flows.current.story.is_in_paragraph:
            self._comment(comment_text)
        else:
            self._flows.current.story.note(f"> {comment_text}")

    def begin_author(self) -> None:
        """Begin the author of a comment, unless it is a field in a paragraph."""
        self._flows.current.is_author_open = not self._flows.current.story.is_in_paragraph

    def end_author(self) -> None:
        """End the author of a comment."""
        self._flows.current.is_author_open = False


def _line(blocks: list[Block]) -> str:
    return " ".join(" ".join(words_of(blocks)).split())
