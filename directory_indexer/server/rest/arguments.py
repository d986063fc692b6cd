"""Arguments of the operations of the API; shared ones are described as for the MCP tools."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from directory_indexer.api import Only
from directory_indexer.collections.ingest import OnConflict, WaitUntil
from directory_indexer.config import DEFAULT
from directory_indexer.ranking.query import MAX_CHARACTERS
from directory_indexer.server.mcp import Budgets
from directory_indexer.server.mcp.arguments import (
    COLLECTION,
    LAST_LINE,
    Below,
    Cursor,
    InCollection,
    MaxTokens,
    Number,
    Texts,
    Types,
)

_OperationId = Annotated[
    str,
    "Id of the operation, from its start or the list.",
    Field(pattern=r"^([a-z0-9-]{1,63}\.)?[a-z]+(-[a-z0-9]{1,24}){1,2}$", max_length=130),
]
_NAME = Field(max_length=1000)
_QUERY = Field(max_length=2000)
_POSITION = Field(ge=1, le=2**31 - 1)
_HEADER = Field(max_length=1000)
_RANGE = Field(pattern=r"^([1-9][0-9]{0,8}(-([1-9][0-9]{0,8})?)?)?$")

CollectionInPath = Annotated[str, "Its name: lower-case letters, digits and hyphens.", COLLECTION]
DocId = Annotated[str, "Id of the file or document, from a hit or a list.", Field(pattern="^[a-z2-7]{24}$")]
ClientId = Annotated[str, "Your own id; sending it again replaces the document. Default: its name or URL.", _NAME]
Text = Annotated[
    str, "The text, in the format of its file name, or Markdown.", Field(min_length=1, max_length=10_000_000)
]
TextName = Annotated[str, "Its file name; also as filename of metadata.", _NAME]
Url = Annotated[str, "Its http or https URL.", Field(min_length=1, max_length=2000)]
Title = Annotated[str, "Its title.", _NAME]
SenderMetadata = Annotated[
    Mapping[str, Any],
    "Extra metadata: author, tags, created, language and subject are searchable, all of it is returned.",
    Field(max_length=200),
]
ConflictAction = Annotated[OnConflict, "What happens to an existing document with this id, name or URL."]
AllowSecrets = Annotated[bool, "Mask secrets in the index and keep them in the original, instead of refusing them."]
WaitFor = Annotated[WaitUntil, "Answer when it is stored, keyword-searchable or fully indexed."]
WaitSeconds = Annotated[Number, "Answer after this many seconds in any case.", Field(ge=0, le=50)]


class ListedState(StrEnum):
    """The states by which documents are listed."""

    ANY = "any"
    QUEUED = "queued"
    WORDS = "words"
    COMPLETE = "complete"
    FAILED = "failed"
    DELETING = "deleting"


OfState = Annotated[ListedState, "Only sent documents in this state; any: files and documents."]


class NoArguments(NamedTuple):
    """The arguments of an operation without arguments."""


class DocumentsCall(NamedTuple):
    """A list of files and documents."""

    collection: InCollection = DEFAULT
    path: Below = ""
    state: OfState = ListedState.ANY
    limit: Annotated[Number, "Maximum number to return.", Field(ge=1, le=500)] = 100
    cursor: Cursor = ""


class DocumentCall(NamedTuple):
    """The text of a file."""

    doc_id: DocId
    collection: InCollection = DEFAULT
    lines: Annotated[str, 'Only these lines: "3", "3-7" or "3-".', _RANGE] = ""
    pages: Annotated[str, "Only these pages, in a document that has pages.", _RANGE] = ""
    chunks: Annotated[str, "Only these passages.", _RANGE] = ""


class PreviewCall(NamedTuple):
    """A document to look at."""

    doc_id: DocId
    collection: InCollection = DEFAULT
    query: Annotated[str, "A query whose matches are highlighted.", _QUERY] = ""
    line: Annotated[Number, "The line to show; of a long document only the text around it is returned.", _POSITION] = 1


class PageCall(NamedTuple):
    """A page to draw."""

    doc_id: DocId
    page: Annotated[Number, "Its number, from 1.", _POSITION]
    collection: InCollection = DEFAULT
    query: Annotated[str, "A query whose matches are highlighted.", _QUERY] = ""


class SimilarCall(NamedTuple):
    """A document that others may be like."""

    doc_id: DocId
    collection: InCollection = DEFAULT
    limit: Annotated[Number, "Maximum number of files.", Field(ge=1, le=50)] = 10


class SentDocumentCall(NamedTuple):
    """A document that was sent."""

    doc_id: DocId
    collection: InCollection = DEFAULT


class OriginalCall(NamedTuple):
    """A document as it was sent."""

    doc_id: DocId
    collection: InCollection = DEFAULT
    range: Annotated[str, "Only these bytes, as in bytes=0-999 or bytes=-500.", _HEADER, Only.PROGRAMS] = ""
    if_range: Annotated[
        str, "Return parts only if the document has this entity tag, otherwise all of it.", _HEADER, Only.PROGRAMS
    ] = ""
    if_none_match: Annotated[str, "Return nothing if it has one of these entity tags.", _HEADER, Only.PROGRAMS] = ""


class RefreshCall(NamedTuple):
    """A document to be fetched again."""

    doc_id: DocId
    collection: InCollection = DEFAULT
    wait: WaitFor = WaitUntil.WORDS
    wait_seconds: WaitSeconds = 20


class IngestCall(NamedTuple):
    """A text to be kept and found."""

    text: Text
    collection: InCollection = DEFAULT
    id: ClientId = ""
    filename: TextName = ""
    title: Title = ""
    metadata: SenderMetadata = {}  # noqa: RUF012 - pydantic gives each call a copy
    on_conflict: Annotated[ConflictAction, Only.PROGRAMS] = OnConflict.REPLACE
    allow_secrets: Annotated[AllowSecrets, Only.PROGRAMS] = False
    wait: Annotated[WaitFor, Only.PROGRAMS] = WaitUntil.WORDS
    wait_seconds: Annotated[WaitSeconds, Only.PROGRAMS] = 20


class UrlCall(NamedTuple):
    """A document on the web to be kept and found."""

    url: Url
    collection: InCollection = DEFAULT
    id: Annotated[ClientId, Only.PROGRAMS] = ""
    filename: Annotated[str, "Its file name, if not that of the URL.", _NAME, Only.PROGRAMS] = ""
    title: Title = ""
    metadata: SenderMetadata = {}  # noqa: RUF012 - pydantic gives each call a copy
    on_conflict: Annotated[ConflictAction, Only.PROGRAMS] = OnConflict.REPLACE
    allow_secrets: Annotated[AllowSecrets, Only.PROGRAMS] = False
    wait: Annotated[WaitFor, Only.PROGRAMS] = WaitUntil.WORDS
    wait_seconds: Annotated[WaitSeconds, Only.PROGRAMS] = 20


class FileCall(NamedTuple):
    """A file to be kept and found."""

    filename: Annotated[str, "Its file name, which decides its format.", Field(min_length=1, max_length=1000)]
    collection: InCollection = DEFAULT
    id: ClientId = ""
    title: Title = ""
    author: Annotated[Texts, "Who wrote it.", Field(max_length=20)] = ()
    tag: Annotated[Texts, "Tags.", Field(max_length=20)] = ()
    metadata: Annotated[str, "Extra metadata: a JSON object.", Field(max_length=16_384)] = ""
    on_conflict: ConflictAction = OnConflict.REPLACE
    allow_secrets: AllowSecrets = False
    wait: WaitFor = WaitUntil.WORDS
    wait_seconds: WaitSeconds = 20


class DocumentsToolCall(NamedTuple):
    """A list of files and documents for an assistant, which has less room than a program."""

    collection: InCollection = DEFAULT
    path: Below = ""
    state: OfState = ListedState.ANY
    limit: Annotated[Number, "Maximum number to return.", Field(ge=1, le=100)] = 20
    cursor: Cursor = ""


class DocumentToolCall(NamedTuple):
    """The text of a file for an assistant, likewise."""

    doc_id: DocId
    collection: InCollection = DEFAULT
    start_line: Annotated[Number, "First line.", Field(ge=1, le=LAST_LINE)] = 1
    max_tokens: MaxTokens = Budgets.CONTENT


class ConvertAndIngestCall(NamedTuple):
    """An address, or an indexed file, that an assistant sends."""

    uri: Annotated[str, "URL, or path or file: URI of an indexed file.", Field(min_length=1, max_length=4096)]
    collection: InCollection = DEFAULT


class CollectionCall(NamedTuple):
    """A collection."""

    collection: CollectionInPath


class DescribeCall(NamedTuple):
    """The description of a collection."""

    collection: CollectionInPath
    description: Annotated[str | None, "What it is for; unchanged if omitted.", Field(max_length=2000)] = None


class OperationCall(NamedTuple):
    """An operation."""

    operation_id: _OperationId
    wait: Annotated[Number, "Wait up to this many seconds for its end.", Field(ge=0, le=50)] = 0


class NamedOperationCall(NamedTuple):
    """An operation to be paused, resumed or cancelled."""

    operation_id: _OperationId


class AdminCall(NamedTuple):
    """Work on a collection."""

    collection: InCollection = DEFAULT


class BackupCall(NamedTuple):
    """A backup."""

    name: Annotated[
        str,
        "Name of its directory; default: the current time.",
        Field(pattern="^([A-Za-z0-9][A-Za-z0-9_-]{0,63})?$"),
    ] = ""


_PATH = Field(min_length=1, max_length=4096)
_Confirmation = Annotated[str, "The confirmation returned by the preview.", Field(min_length=1, max_length=100)]
_TypedDirectory = Annotated[str, "The directory: an absolute path, or one that begins with ~.", _PATH]
_TrackedDirectory = Annotated[str, "The tracked directory.", _PATH]


class DirectoriesCall(NamedTuple):
    """A directory breakdown of the index."""

    path: Below = ""
    collection: InCollection = DEFAULT
    depth: Annotated[Number, "How many levels of directories to list.", Field(ge=1, le=6)] = 2
    most: Annotated[Number, "Maximum number of directories in each.", Field(ge=1, le=200)] = 40


class NeighboursCall(NamedTuple):
    """A map of the neighbours of a document."""

    doc_id: DocId
    collection: InCollection = DEFAULT
    limit: Annotated[Number, "Maximum number of passages.", Field(ge=1, le=300)] = 120


class SkippedFilesCall(NamedTuple):
    """A list of files that are not in the index."""

    path: Annotated[str, "Only in this tracked directory, or in a directory in it.", Field(max_length=4096)] = ""
    reason: Annotated[str, "Only for this reason; ignored: excluded by rules.", Field(max_length=40)] = ""
    limit: Annotated[Number, "Maximum number to return.", Field(ge=1, le=500)] = 100
    offset: Annotated[Number, "Number to skip.", Field(ge=0, le=1_000_000)] = 0


class NearMissesCall(NamedTuple):
    """Files outside the index that a query with few hits may refer to."""

    query: Annotated[str, "The query that was searched for.", Field(max_length=MAX_CHARACTERS)]
    path: Annotated[str, "Only in this tracked directory, or in a directory in it.", Field(max_length=4096)] = ""
    types: Types = ()


class LookAtDirectoryCall(NamedTuple):
    """A look at a directory that might be added."""

    path: _TypedDirectory


class SuggestedDirectoriesCall(NamedTuple):
    """The path of a directory to add, as far as it was typed."""

    path: Annotated[str, "The beginning of its path; empty: common directories.", Field(max_length=4096)] = ""


class ChangesCall(NamedTuple):
    """A moment of the index that is known already."""

    moment: Annotated[str, "The moment in the previous answer.", Field(max_length=500)] = ""
    wait: Annotated[Number, "Wait up to this many seconds for another moment.", Field(ge=0, le=50)] = 0


class AddDirectoryCall(NamedTuple):
    """A directory that was looked at."""

    confirmation: _Confirmation


class LookAtForgettingCall(NamedTuple):
    """A look at what forgetting would remove."""

    path: _TrackedDirectory


class ForgetDirectoryCall(NamedTuple):
    """A directory to forget that was looked at."""

    confirmation: _Confirmation


class ChangeSettingCall(NamedTuple):
    """A setting that is to have another value."""

    key: Annotated[str, "The setting.", Field(max_length=100)]
    value: Annotated[str, "The value, as in an environment variable; empty: its default.", Field(max_length=20_000)] = (
        ""
    )
