"""Outlines for the tool `outline`, folded until text and structured content are within the token budget."""

from __future__ import annotations

from directory_indexer.docstore.store import Snapshot
from directory_indexer.errors import NotIndexedError
from directory_indexer.render.outlines import folded_note, outline_lines, outline_within
from directory_indexer.render.printable import PathStyle
from directory_indexer.render.spans import plain
from directory_indexer.searching.named_parts import outline_of
from directory_indexer.searching.outlines import Outline
from directory_indexer.server.arguments import ArgumentError
from directory_indexer.server.budget import Budgets, cost
from directory_indexer.server.places import indexed_directory, indexed_file
from directory_indexer.server.schemas import object_for_models
from directory_indexer.wire.outlines import OutlineAnswer, outline_answer

_STEP = 20


def outline_named(snapshot: Snapshot, name: str) -> Outline:
    """Return the outline of a file, of a part of one or of a directory.

    Raises:
        NotIndexedError: nothing of it is indexed.
        UsageError: the name is not a valid path, or the file has no such part.
    """
    try:
        return outline_of(snapshot, indexed_file(snapshot, name))
    except NotIndexedError:
        if directory := indexed_directory(snapshot, name):
            return outline_of(snapshot, directory)
        file, _, heading = name.partition("#")
        if not heading.strip() or not file.strip():
            raise
        return outline_of(snapshot, indexed_file(snapshot, file), heading.strip())


def outline_within_budget(outline: Outline, *, max_tokens: int) -> OutlineAnswer:
    """Fold an outline until it is within the token budget.

    Raises:
        ArgumentError: not even its headline fits.
    """
    for room in range(max_tokens, 0, -_STEP):
        answer = _answer(outline_within(outline, max_tokens=room), max_tokens)
        if cost(object_for_models(answer)) <= max_tokens and cost(answer.outline) <= max_tokens:
            return answer
    raise ArgumentError(f"max_tokens is too small for the path; repeat the call with max_tokens={Budgets.OUTLINE}")


def _answer(outline: Outline, max_tokens: int) -> OutlineAnswer:
    text = plain(outline_lines(outline, paths=PathStyle()))
    if note := folded_note(outline, max_tokens=max_tokens):
        inner = "path/DIRECTORY" if outline.is_directory else "path#NAME"
        text += f"{note}; outline({inner}) shows one of them, a larger max_tokens more.\n"
    return outline_answer(outline)._replace(outline=text)
