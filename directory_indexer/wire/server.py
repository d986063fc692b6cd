"""Record of the indexed directories, model and runs of a server."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from directory_indexer.wire.hits import IndexState
from directory_indexer.wire.runs import Run
from directory_indexer.wire.status import Directory, Model


class ServerAnswer(NamedTuple):
    """The directories that a server has indexed or may index, with its model and index run."""

    version: Annotated[str, "Version of dirindex."]
    directories: Annotated[tuple[Directory, ...], "The indexed directories."]
    allowed: Annotated[tuple[str, ...], "Directories that index may add, with what lies below them."]
    model: Annotated[Model, "The model that searches by meaning."]
    index: Annotated[IndexState, "The whole index."]  # type: ignore[assignment]  # not the method of tuples
    left_out: Annotated[int, "Directories that did not fit into the answer."] = 0
    run: Annotated[Run | None, "The index run that goes on, or the last one."] = None
    collections: Annotated[tuple[str, ...], "Other collections."] = ()
