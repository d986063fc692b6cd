"""Answers of the tools, with resource links to the files of the best hits, and the record of a server's state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias

from directory_indexer.api import format_timestamp
from directory_indexer.api.contents import ConvertedText, GrepAnswer, OutlineAnswer, TextAnswer
from directory_indexer.api.hits import IndexState, PlainAnswer, SearchAnswer
from directory_indexer.api.runs import Run
from directory_indexer.api.status import Directory, Model
from directory_indexer.api.symbols import LocateAnswer, SymbolAnswer
from directory_indexer.config import DEFAULT
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.kinds import GROUPS
from directory_indexer.server.path_resolution import resource_uri

with lazily:
    from directory_indexer.search.requests import Hit, SearchResult


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
    collections_left_out: Annotated[int, "Collections that did not fit into the answer."] = 0


MAX_LINKS = 3
PLAIN_TEXT = "text/plain"
_MEDIA_TYPES = {
    "css": "text/css",
    "csv": "text/csv",
    "javascript": "text/javascript",
    "json": "application/json",
    "markdown": "text/markdown",
    "python": "text/x-python",
    "text": PLAIN_TEXT,
    "toml": "application/toml",
    "yaml": "application/yaml",
}
"""The media types of files that are indexed as they are; of all others, clients read the extracted text."""


@dataclass(frozen=True, slots=True)
class FileLink:
    """A resource link to a file; its size is known only if the resource is the unchanged file."""

    uri: str
    name: str
    media_type: str
    size: int | None
    modified: str | None


def resource_links(answer: SearchAnswer, result: SearchResult) -> tuple[FileLink, ...]:
    """Return links to the files of the best hits of the default collection.

    An answer with room for only a part of one hit has no links.
    """
    is_minimal = len(answer.hits) == 1 and answer.hits[0].shortened
    paths = set() if is_minimal else {passage.path for passage in answer.hits}
    linked = [hit for hit in result.hits if hit.path in paths and hit.collection in {"", DEFAULT} and hit.is_passage]
    best = {hit.path: hit for hit in reversed(linked)}
    return tuple(_resource_link(hit) for hit in list(reversed(best.values()))[:MAX_LINKS])


def media_type(kind: str) -> str:
    """Return the media type of the resource of a file of this kind."""
    return _MEDIA_TYPES.get(kind, PLAIN_TEXT)


def _resource_link(hit: Hit) -> FileLink:
    uri = resource_uri(FilePath(hit.path))
    is_verbatim = hit.facts.kind in _MEDIA_TYPES or hit.facts.kind in GROUPS["code"]
    return FileLink(
        uri=uri,
        name=uri.rpartition("/")[2],
        media_type=media_type(hit.facts.kind),
        size=hit.source.size if hit.source and is_verbatim else None,
        modified=format_timestamp(hit.source.mtime_ns / 1e9) if hit.source else None,
    )


Result: TypeAlias = (
    SearchAnswer
    | PlainAnswer
    | GrepAnswer
    | TextAnswer
    | OutlineAnswer
    | SymbolAnswer
    | LocateAnswer
    | ConvertedText
    | Run
    | ServerAnswer
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a tool, as text and as a record with the same content."""

    text: str
    result: Result
    links: tuple[FileLink, ...] = ()
