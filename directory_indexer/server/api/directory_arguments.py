"""Arguments of operations on directories and settings, and of the neighbours of a document."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from directory_indexer.config.collections import DEFAULT
from directory_indexer.relevance.query import MAX_CHARACTERS
from directory_indexer.server.api.arguments import Collection, DocId
from directory_indexer.server.arguments import Below, Number, Types

_PATH = Field(min_length=1, max_length=4096)
_Confirmation = Annotated[str, "The confirmation that the look gave.", Field(min_length=1, max_length=100)]
_Typed = Annotated[str, "The directory: an absolute path, or one that begins with ~.", _PATH]
_Tracked = Annotated[str, "The tracked directory.", _PATH]


class DirectoriesCall(NamedTuple):
    """A directory breakdown of the index."""

    path: Below = ""
    collection: Collection = DEFAULT
    depth: Annotated[Number, "How many levels of directories to list.", Field(ge=1, le=6)] = 2
    most: Annotated[Number, "How many directories to list in each at most.", Field(ge=1, le=200)] = 40


class NeighboursCall(NamedTuple):
    """A map of the neighbours of a document."""

    doc_id: DocId
    collection: Collection = DEFAULT
    limit: Annotated[Number, "How many passages to answer at most.", Field(ge=1, le=300)] = 120


class LeftOutCall(NamedTuple):
    """A list of files that are not in the index."""

    path: Annotated[str, "Only in this tracked directory, or in a directory in it.", Field(max_length=4096)] = ""
    reason: Annotated[str, "Only for this reason; ignored: what rules leave out.", Field(max_length=40)] = ""
    limit: Annotated[Number, "How many to answer at most.", Field(ge=1, le=500)] = 100
    offset: Annotated[Number, "How many to skip.", Field(ge=0, le=1_000_000)] = 0


class NearMissesCall(NamedTuple):
    """Files outside the index that a query with few hits may refer to."""

    query: Annotated[str, "The query, as it was searched for.", Field(max_length=MAX_CHARACTERS)]
    path: Annotated[str, "Only in this tracked directory, or in a directory in it.", Field(max_length=4096)] = ""
    types: Types = ()


class LookAtDirectoryCall(NamedTuple):
    """A look at a directory that might be added."""

    path: _Typed


class SuggestedDirectoriesCall(NamedTuple):
    """The path of a directory to add, as far as it was typed."""

    path: Annotated[
        str, "The beginning of its path; empty: directories that most people have.", Field(max_length=4096)
    ] = ""


class ChangesCall(NamedTuple):
    """A moment of the index that is known already."""

    moment: Annotated[str, "The moment of the last answer.", Field(max_length=500)] = ""
    wait: Annotated[Number, "Wait so many seconds for another moment before answering.", Field(ge=0, le=50)] = 0


class AddDirectoryCall(NamedTuple):
    """A directory that was looked at."""

    confirmation: _Confirmation


class LookAtForgettingCall(NamedTuple):
    """A look at what forgetting would remove."""

    path: _Tracked


class ForgetDirectoryCall(NamedTuple):
    """A directory to forget that was looked at."""

    confirmation: _Confirmation


class ChangeSettingCall(NamedTuple):
    """A setting that is to have another value."""

    key: Annotated[str, "The setting.", Field(max_length=100)]
    value: Annotated[str, "The value, as a variable would have it; empty: its default.", Field(max_length=20_000)] = ""
