"""Records of the semantic neighbours of a document."""

from __future__ import annotations

from typing import Annotated, NamedTuple


class NeighbourEntry(NamedTuple):
    """A passage near a document."""

    doc_id: Annotated[str, "Id of the file or document that it is in."]
    filename: Annotated[str, "Name of that file."]
    path: Annotated[str, "Absolute path of that file."]
    directory: Annotated[str, "The directory of that file."]
    heading: Annotated[str | None, "The heading or symbol above it."]
    line: Annotated[int, "Its first line."]
    page: Annotated[int | None, "Its page, in a document that has pages."]
    excerpt: Annotated[str, "Its beginning."]
    nearness: Annotated[float, "How near it is in meaning, 0 to 1."]
    x: Annotated[float, "Where it is drawn, -1 to 1; the document is at 0."]
    y: Annotated[float, "Where it is drawn, -1 to 1; the document is at 0."]
    topic: Annotated[int, "Which of the topics it belongs to, from 0."]


class NeighboursAnswer(NamedTuple):
    """The passages around a document, as a map."""

    doc_id: Annotated[str, "Id of the document."]
    filename: Annotated[str, "Its name."]
    path: Annotated[str, "Its path."]
    passages: Annotated[int, "How many passages it has."]
    neighbours: Annotated[tuple[NeighbourEntry, ...], "The passages around it, nearest first."]
    topics: Annotated[tuple[str, ...], "Words that name each topic; empty if there is only one."]
