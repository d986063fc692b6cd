"""What the operations of the API take, described as for the tools of MCP wherever both take it."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from directory_indexer.searching.answers import SearchMode
from directory_indexer.server.arguments import (
    Author,
    Below,
    Created,
    Cursor,
    Globs,
    IndexPath,
    InLanguage,
    Mode,
    Number,
    Query,
    Recipient,
    Sender,
    Since,
    Subject,
    Tag,
    Types,
    Until,
    WithFacets,
    WithWeaker,
)

DEFAULT_HITS = 10
_Words = Field(max_length=200)
_Hits = Field(ge=1, le=50)
_OperationId = Annotated[
    str, "Id of the operation, as its start or the list gave it.", Field(pattern="^[a-z]+(-[0-9]+)+$", max_length=60)
]
_RANGE = Field(pattern=r"^([1-9][0-9]{0,8}(-([1-9][0-9]{0,8})?)?)?$")


class NoArguments(NamedTuple):
    """What an operation takes that takes nothing."""


class SearchCall(NamedTuple):
    """A search."""

    query: Query
    path: Below = ""
    types: Types = ()
    globs: Globs = ()
    author: Annotated[Author, _Words] = ""
    language: Annotated[InLanguage, _Words] = ""
    tag: Annotated[Tag, _Words] = ""
    sender: Annotated[Sender, _Words] = ""
    recipient: Annotated[Recipient, _Words] = ""
    subject: Annotated[Subject, _Words] = ""
    created: Annotated[Created, _Words] = ""
    since: Annotated[Since, _Words] = ""
    until: Annotated[Until, _Words] = ""
    facets: WithFacets = False
    mode: Mode = SearchMode.HYBRID
    limit: Annotated[int | None, "Most hits to answer; 10 if nothing is said.", _Hits] = None
    top_k: Annotated[int | None, "Another name for limit.", _Hits] = None
    all: WithWeaker = False
    full: Annotated[bool, "Give the whole passages, too, not excerpts alone."] = False
    explain: Annotated[bool, "Say why each hit stands where it does."] = False
    cursor: Cursor = ""


class DocumentsCall(NamedTuple):
    """A list of files."""

    path: Below = ""
    limit: Annotated[Number, "Most files to answer.", Field(ge=1, le=500)] = 100
    cursor: Cursor = ""


class DocumentCall(NamedTuple):
    """The text of a file."""

    doc_id: Annotated[str, "Id of the file, as hits and lists give it.", Field(pattern="^[a-z2-7]{24}$")]
    lines: Annotated[str, 'Only these lines: "3", "3-7" or "3-".', _RANGE] = ""
    pages: Annotated[str, "Only these pages, in a document that has pages.", _RANGE] = ""
    chunks: Annotated[str, "Only these passages.", _RANGE] = ""


class IndexCall(NamedTuple):
    """An index run."""

    path: IndexPath = ""


class OperationCall(NamedTuple):
    """An operation."""

    operation_id: _OperationId
    wait: Annotated[Number, "Wait so many seconds for it to end before answering.", Field(ge=0, le=50)] = 0


class CancelCall(NamedTuple):
    """An operation to be cancelled."""

    operation_id: _OperationId
