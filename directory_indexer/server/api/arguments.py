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
    InLanguage,
    Mode,
    Query,
    Recipient,
    Sender,
    Since,
    Subject,
    Tag,
    Types,
    Until,
    WithFacets,
)

DEFAULT_HITS = 10
_Hits = Field(ge=1, le=50)


class NoArguments(NamedTuple):
    """What an operation takes that takes nothing."""


class SearchCall(NamedTuple):
    """A search."""

    query: Query
    path: Below = ""
    types: Types = ()
    globs: Globs = ()
    author: Author = ""
    language: InLanguage = ""
    tag: Tag = ""
    sender: Sender = ""
    recipient: Recipient = ""
    subject: Subject = ""
    created: Created = ""
    since: Since = ""
    until: Until = ""
    facets: WithFacets = False
    mode: Mode = SearchMode.HYBRID
    limit: Annotated[int | None, "Most hits to answer; 10 if nothing is said.", _Hits] = None
    top_k: Annotated[int | None, "Another name for limit.", _Hits] = None
    full: Annotated[bool, "Give the whole passages, too, not excerpts alone."] = False
    explain: Annotated[bool, "Say why each hit stands where it does."] = False
    cursor: Cursor = ""
