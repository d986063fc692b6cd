"""Arguments of the tools of a remote index."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from directory_indexer.config.collections import DEFAULT
from directory_indexer.relevance.query import MAX_CHARACTERS
from directory_indexer.searching.answers import SearchMode
from directory_indexer.server.arguments import LAST_LINE, InCollection, InCollections, MaxTokens, Number, Texts
from directory_indexer.server.budget import Budgets

_Path = Field(min_length=1, max_length=4096)
LocalFile = Annotated[str, "Absolute path of a local file, or one below an allowed directory; or an address.", _Path]
StartLine = Annotated[Number, "First line.", Field(ge=1, le=LAST_LINE)]


class RemoteSearchArguments(NamedTuple):
    """The arguments of `search`."""

    query: Annotated[
        str, 'A question or words; "phrase", -without, OR.', Field(min_length=1, max_length=MAX_CHARACTERS)
    ]
    collections: InCollections = ()
    types: Annotated[Texts, 'Kinds of files: "python", "pdf".', Field(max_length=20)] = ()
    mode: Annotated[SearchMode, "How to rank."] = SearchMode.HYBRID
    limit: Annotated[Number, "Most hits.", Field(ge=1, le=50)] = 10
    max_tokens: MaxTokens = Budgets.SEARCH


class CollectionsArguments(NamedTuple):
    """The arguments of `list_collections`."""


class GetDocumentArguments(NamedTuple):
    """The arguments of `get_document`."""

    doc_id: Annotated[str, "Id, as a hit has it.", Field(min_length=1, max_length=100)]
    collection: InCollection = DEFAULT
    start_line: StartLine = 1
    max_tokens: MaxTokens = Budgets.CONTENT


class IngestUrlArguments(NamedTuple):
    """The arguments of `ingest_url`."""

    url: Annotated[str, "Its address, of http or https.", Field(min_length=1, max_length=2000)]
    collection: InCollection = DEFAULT


class ConvertFileArguments(NamedTuple):
    """The arguments of `convert_to_text`."""

    path: LocalFile
    start_line: StartLine = 1
    max_tokens: MaxTokens = Budgets.CONTENT


class IngestFileArguments(NamedTuple):
    """The arguments of `convert_and_ingest`."""

    path: LocalFile
    collection: InCollection = DEFAULT
    title: Annotated[str, "Its title, if not its own.", Field(max_length=500)] = ""
    tags: Annotated[Texts, "Tags, to find it by.", Field(max_length=20)] = ()
