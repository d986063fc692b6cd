"""Arguments of the search operations."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from directory_indexer.config.collections import DEFAULT
from directory_indexer.searching.answers import Order, SearchMode
from directory_indexer.server.api.arguments import Collection
from directory_indexer.server.arguments import (
    Author,
    Below,
    Created,
    Cursor,
    Globs,
    InCollections,
    InLanguage,
    LinesAround,
    MaxTokens,
    Mode,
    Number,
    Outlined,
    Pattern,
    PlainText,
    Queries,
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
from directory_indexer.server.budget import Budgets

_Words = Field(max_length=200)
_Hits = Field(ge=1, le=50)


class SearchCall(NamedTuple):
    """A search."""

    query: Query
    queries: Queries = ()
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
    collections: InCollections = ()
    limit: Annotated[Number, "Most hits.", _Hits] = 10
    all: WithWeaker = False
    full: Annotated[bool, "Give the whole passages, too, not excerpts alone."] = False
    explain: Annotated[bool, "Say why each hit stands where it does."] = False
    sort: Annotated[Order, "In which order the best hits are answered: newest first, or by path."] = Order.SCORE
    cursor: Cursor = ""
    prefix: Annotated[
        bool, "The last word is still being typed: words that begin so are found, too, one passage of each file."
    ] = False
    refresh: Annotated[
        bool, "Look first for what changed since the last run; false: answer from the index as it is."
    ] = True


class GrepCall(NamedTuple):
    """A search for lines."""

    pattern: Pattern
    path: Below = ""
    types: Types = ()
    globs: Globs = ()
    fixed: PlainText = False
    ignore_case: Annotated[bool, "Whatever the case of letters is."] = False
    context: LinesAround = 0
    limit: Annotated[Number, "Most lines to answer; all are counted.", Field(ge=1, le=2000)] = 500
    collection: Collection = DEFAULT


class OutlineCall(NamedTuple):
    """An outline of a file or a directory."""

    path: Outlined
    max_tokens: MaxTokens = Budgets.OUTLINE
    collection: Collection = DEFAULT
