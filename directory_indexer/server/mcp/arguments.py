"""Arguments of the tools, described for models that do not know dirindex, and validated by pydantic.

The MCP SDK has already imported pydantic when these are needed.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from directory_indexer.api import JsonObject, Only
from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import UsageError
from directory_indexer.core.paths import describe_invalid_character, well_formed
from directory_indexer.ranking.filter_fields import ARGUMENT_FIELDS, SOURCE_FIELDS
from directory_indexer.ranking.query import MAX_CHARACTERS
from directory_indexer.search.requests import SearchMode, SortOrder
from directory_indexer.server.mcp import Budgets, record_schema

_MAX_CURSOR_CHARS = 2000
_MAX_PATH_CHARS = 4096
LAST_LINE = 2**31
_MAX_QUOTED_CHARS = 80
_MAX_LENGTH_KEY = "maxLength"


class ArgumentError(UsageError):
    """The arguments of a call are invalid."""


class Alias(NamedTuple):
    """An alias of an argument, used by clients of the plain contract (docs/http.md).

    `callables` are the tools and operations that accept it; a `name` with a dot is a key of an object argument. It
    applies where a record has the argument `own` and none that is called `name`.
    """

    callables: frozenset[str]
    name: str
    own: str

    @property
    def is_key(self) -> bool:
        """Whether the alias is a key of an object argument."""
        return "." in self.name


ALIASES: Final = (
    Alias(frozenset({"search"}), "top_k", "limit"),
    Alias(frozenset({"search"}), "collection", "collections"),
    Alias(frozenset({"ingest"}), "metadata.filename", "filename"),
    Alias(frozenset({"ingest", "ingest_url", "ingestUrl"}), "metadata.collection", "collection"),
    Alias(frozenset({"convert_to_text"}), "uri", "source"),
    Alias(frozenset({"convert_to_text", "convert_and_ingest"}), "uri", "path"),
)


class IndexAction(StrEnum):
    """The action of the tool `index`."""

    START = "start"
    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"


def _require_no_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError(value)  # noqa: TRY004 - pydantic collects these
    return value


def _parse_list(value: object) -> object:
    """Accept what models write in place of a list: a single string, or a list as JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value.lstrip().startswith("[") else [value]
    except (ValueError, RecursionError):
        return [value]


Number = Annotated[int, BeforeValidator(_require_no_boolean)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_parse_list)]
_PathLimits = Field(max_length=_MAX_PATH_CHARS)
_FilePathLimits = Field(min_length=1, max_length=_MAX_PATH_CHARS)
_RangeText = Field(max_length=30)
_FilterText = Field(max_length=200)
_EMPTY_VALUES: Final[tuple[object, ...]] = (None, "", [])
_COLLECTION_LIMITS: Final = {"minLength": 1, "maxLength": 63}
_HitLimit = Field(ge=1, le=50)

Cursor = Annotated[
    str,
    "next_cursor of the last answer; keep all else.",
    Field(max_length=_MAX_CURSOR_CHARS),
]
MaxTokens = Annotated[
    Number,
    "Token budget.",
    Field(ge=Budgets.LEAST, le=Budgets.MOST),
]
IndexedFile = Annotated[str, "Indexed file, or the end of its path.", _FilePathLimits]
Query = Annotated[
    str,
    'Question or words; "phrase", -without, OR. '
    f"{' '.join(f'{field.word}:' for field in (*SOURCE_FIELDS, *ARGUMENT_FIELDS))} narrow it: since:7d.",
    Field(min_length=1, max_length=MAX_CHARACTERS),
]
Queries = Annotated[Texts, "More wordings or parts of the question.", Field(max_length=5)]
Below = Annotated[str, "Directory or file.", _PathLimits]
Types = Annotated[Texts, '"python", "pdf", "code".', Field(max_length=20)]
Globs = Annotated[Texts, '"src/**", "*.{c,h}", "!*.md".', Field(max_length=20)]

COLLECTION = Field(pattern="^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
IN_COLLECTION = "The collection."
InCollection = Annotated[str, IN_COLLECTION, COLLECTION]


class SearchCall(NamedTuple):
    """A search."""

    query: Query
    queries: Queries = ()
    path: Below = ""
    types: Types = ()
    globs: Globs = ()
    author: Annotated[str, "Only by this author.", _FilterText, Only.PROGRAMS] = ""
    language: Annotated[str, 'Only prose in this language: "en".', _FilterText, Only.PROGRAMS] = ""
    tag: Annotated[str, "Only documents with this tag.", _FilterText, Only.PROGRAMS] = ""
    sender: Annotated[str, "Only mail from this person.", _FilterText, Only.PROGRAMS] = ""
    recipient: Annotated[str, "Likewise, to this person.", _FilterText, Only.PROGRAMS] = ""
    copied_to: Annotated[str, "Likewise, with a copy to this person.", _FilterText, Only.PROGRAMS] = ""
    subject: Annotated[str, "Only with this in the subject.", _FilterText, Only.PROGRAMS] = ""
    created: Annotated[str, 'Only documents created in: "2026", "2026-01".', _FilterText, Only.PROGRAMS] = ""
    since: Annotated[str, 'Only files dated since: "7d", "yesterday", "2026-01-31".', _FilterText, Only.PROGRAMS] = ""
    until: Annotated[str, "Only files dated until then.", _FilterText, Only.PROGRAMS] = ""
    facets: Annotated[bool, "Count types, years … instead."] = False
    mode: Annotated[SearchMode, "How to rank."] = SearchMode.HYBRID
    collections: Annotated[Texts, "If not the default one.", Field(max_length=20)] = ()
    limit: Annotated[Number, "Most hits.", _HitLimit] = 10
    all: Annotated[bool, "Also weaker hits."] = False
    again: Annotated[bool, "Repeat passages shown before.", Only.MODELS] = False
    full: Annotated[bool, "Give the whole passages, too, not excerpts alone.", Only.PROGRAMS] = False
    explain: Annotated[bool, "Say why each hit stands where it does.", Only.PROGRAMS] = False
    sort: Annotated[
        SortOrder, "In which order the best hits are answered: newest first, or by path.", Only.PROGRAMS
    ] = SortOrder.SCORE
    max_tokens: Annotated[MaxTokens, Only.MODELS] = Budgets.SEARCH
    cursor: Cursor = ""
    prefix: Annotated[
        bool,
        "The last word is still being typed: words that begin so are found, too, one passage of each file.",
        Only.PROGRAMS,
    ] = False
    refresh: Annotated[
        bool,
        "Look first for what changed since the last run; false: answer from the index as it is.",
        Only.PROGRAMS,
    ] = True
    results: Annotated[bool, "Repeat the hits as `results`, under the names of the plain contract.", Only.PROGRAMS] = (
        True
    )
    plain: Annotated[bool, "Answer by the names of the plain contract.", Only.NOBODY] = False


class GrepCall(NamedTuple):
    """A search for lines."""

    pattern: Annotated[str, "Regular expression; (?i) ignores case.", Field(min_length=1, max_length=1000)]
    path: Below = ""
    types: Annotated[Types, Only.PROGRAMS] = ()
    globs: Globs = ()
    fixed: Annotated[bool, "Plain text."] = False
    ignore_case: Annotated[bool, "Whatever the case of letters is.", Only.PROGRAMS] = False
    context: Annotated[Number, "Lines around.", Field(ge=0, le=20)] = 0
    limit: Annotated[Number, "Most lines to answer; all are counted.", Field(ge=1, le=2000), Only.PROGRAMS] = 500
    max_tokens: Annotated[MaxTokens, Only.MODELS] = Budgets.SEARCH
    collection: InCollection = DEFAULT


class SimilarArguments(NamedTuple):
    """The arguments of `similar_files`."""

    path: IndexedFile
    within: Annotated[str, "Directory.", _PathLimits] = ""
    collection: InCollection = DEFAULT
    limit: Annotated[Number, "Most hits.", _HitLimit] = 10
    max_tokens: MaxTokens = Budgets.SEARCH
    cursor: Cursor = ""


class ContentArguments(NamedTuple):
    """The arguments of `get_content`."""

    path: IndexedFile
    start_line: Annotated[Number, "First line.", Field(ge=1, le=LAST_LINE)] = 1
    end_line: Annotated[Number, "Last line; 0: as far as fits.", Field(ge=0, le=LAST_LINE)] = 0
    chunks: Annotated[
        str,
        'Passages: "3", "3-7", "3-".',
        _RangeText,
    ] = ""
    pages: Annotated[str, 'Pages: "2", "2-4".', _RangeText] = ""
    collection: InCollection = DEFAULT
    max_tokens: MaxTokens = Budgets.CONTENT


class OutlineCall(NamedTuple):
    """An outline of a file or a directory."""

    path: Annotated[str, "File, directory or FILE#Heading.", _FilePathLimits]
    collection: InCollection = DEFAULT
    max_tokens: MaxTokens = Budgets.OUTLINE


class SymbolArguments(NamedTuple):
    """The arguments of `symbol`."""

    name: Annotated[str, "name, Class.name or module.name.", Field(min_length=1, max_length=300)]
    path: Below = ""
    levels: Annotated[Number, "Levels of callers.", Field(ge=0, le=5)] = 0
    collection: InCollection = DEFAULT
    max_tokens: MaxTokens = Budgets.SEARCH


class LocateArguments(NamedTuple):
    """The arguments of `locate`."""

    report: Annotated[str, "The whole text.", Field(min_length=1, max_length=100_000)]
    path: Below = ""
    collection: InCollection = DEFAULT
    max_tokens: MaxTokens = Budgets.READING


class ConvertArguments(NamedTuple):
    """The arguments of `convert_to_text`."""

    source: Annotated[
        str,
        "Indexed file, member (a.zip!/b.docx) or URL.",
        _FilePathLimits,
    ]
    start_line: Annotated[Number, "First line.", Field(ge=1, le=LAST_LINE)] = 1
    collection: InCollection = DEFAULT
    max_tokens: MaxTokens = Budgets.CONTENT


class IndexCall(NamedTuple):
    """An index run."""

    path: Annotated[str, "Empty: all.", _PathLimits] = ""
    action: Annotated[IndexAction, "start joins a running one.", Only.MODELS] = IndexAction.START
    wait_seconds: Annotated[Number, "Longest wait.", Field(ge=0, le=50), Only.MODELS] = 20
    collection: InCollection = DEFAULT


class InfoArguments(NamedTuple):
    """The arguments of `server_info`."""

    collection: InCollection = DEFAULT


def parse_arguments(
    record: type, arguments: Mapping[str, object], *, of: str = "", audience: Only = Only.MODELS
) -> Any:
    """Validate the arguments of a call `of` a tool or operation; a null counts as missing.

    Raises:
        ArgumentError: an argument is unknown, missing, of a wrong type, out of range, or contradicts another.
    """
    known: JsonObject = record_schema(record, audience)["properties"]
    values, names_in_call = _resolve_aliases(arguments, argument_aliases(record, of))
    if unknown := [name for name in values if name not in known]:
        raise ArgumentError(
            f"unknown argument {', '.join(map(quote_value, unknown))}{_suggest_name(unknown[0], known)}"
        )
    if missing := [name for name in record_schema(record, audience).get("required", ()) if name not in values]:
        raise ArgumentError(f"the argument {', '.join(map(quote_value, missing))} is missing")
    for name, value in values.items():
        if invalid := _invalid_character_in(value):
            raise ArgumentError(f"'{name}' contains {invalid}")
    try:
        return _type_adapter(record).validate_python(values)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        name_in_call = names_in_call.get(name, name)
        schema = schema_with_aliases(record, of, audience)["properties"].get(name_in_call, known[name])
        raise invalid_argument_error(name_in_call, values[name], schema) from error


def _invalid_character_in(value: object) -> str:
    """Return a description of the first invalid character in any string of a nested value; empty if there is none."""
    pending = [value]
    while pending:
        match pending.pop():
            case str() as text if invalid := describe_invalid_character(text):
                return invalid
            case Mapping() as members:
                pending += [*members.keys(), *members.values()]
            case list() | tuple() as items:
                pending += items
    return ""


@functools.cache
def argument_aliases(record: type, of: str) -> tuple[Alias, ...]:
    """Return the aliases of arguments of a tool or operation."""
    known: JsonObject = record_schema(record)["properties"]
    return tuple(alias for alias in ALIASES if of in alias.callables and alias.own in known and alias.name not in known)


@functools.cache
def schema_with_aliases(record: type, of: str, audience: Only = Only.MODELS) -> JsonObject:
    """Return the schema of the arguments of a tool or operation, with their aliases."""
    schema = record_schema(record, audience)
    own: JsonObject = schema["properties"]
    aliases = [alias for alias in argument_aliases(record, of) if not alias.is_key]
    return {**schema, "properties": own | {alias.name: _schema_of_alias(alias, own[alias.own]) for alias in aliases}}


def _schema_of_alias(alias: Alias, own: JsonObject) -> JsonObject:
    if own["type"] == "array":
        return {**own["items"], **_COLLECTION_LIMITS, "description": f"A single one of `{alias.own}`."}
    return {**own, "description": f"Another name for `{alias.own}`."}


def _resolve_aliases(arguments: Mapping[str, object], aliases: Iterable[Alias]) -> tuple[JsonObject, dict[str, str]]:
    """Return the arguments by their record names, and the names used in the call for those passed by an alias."""
    values = {name: value for name, value in arguments.items() if value is not None}
    names_in_call: dict[str, str] = {}
    for alias in aliases:
        outer, _, inner = alias.name.partition(".")
        value = values.get(outer) if alias.is_key else values.pop(outer, None)
        if alias.is_key:
            value = value.get(inner) if isinstance(value, Mapping) else None
        if value is None:
            continue
        if values.get(alias.own) in _EMPTY_VALUES:
            values[alias.own], names_in_call[alias.own] = value, alias.name
        require_no_conflict((alias.own, values[alias.own]), (alias.name, value))
    return values, names_in_call


def require_no_conflict(own: tuple[str, object], other: tuple[str, object]) -> None:
    """Reject different values of an argument and its alias; a list agrees with each of its items.

    Raises:
        ArgumentError: the values differ.
    """
    (name, value), (other_name, other_value) = own, other
    listed = _parse_list(value)
    if value != other_value and not (isinstance(listed, list) and other_value in listed):
        raise ArgumentError(
            f"'{name}' is {quote_value(value)} and '{other_name}' is {quote_value(other_value)}",
            hint="they are aliases: pass only one",
        )


@functools.cache
def _type_adapter(record: type) -> TypeAdapter[Any]:
    return TypeAdapter(record)


def invalid_argument_error(name: str, value: object, schema: JsonObject) -> ArgumentError:
    """Return the error for an argument whose value its schema does not allow."""
    length = f" ({len(value)} characters)" if isinstance(value, str) and len(value) > _MAX_QUOTED_CHARS else ""
    return ArgumentError(f"'{name}' is {quote_value(value)}{length}; it must be {_describe_expected_value(schema)}")


def _describe_expected_value(schema: JsonObject) -> str:
    """Describe in words what the schema of an argument allows."""
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    match schema["type"]:
        case "array":
            return f"a list of at most {schema['maxItems']} texts"
        case "object":
            return f"an object of at most {schema['maxProperties']} names"
        case "string":
            form = f" of the form {schema['pattern']}" if "pattern" in schema else ""
            length = (
                f" of {schema.get('minLength', 0)} to {schema['maxLength']} characters"
                if _MAX_LENGTH_KEY in schema
                else ""
            )
            return f"a text{length}{form}"
        case "integer":
            return f"an integer from {schema['minimum']} to {schema['maximum']}"
        case _:
            return "true or false"


def _suggest_name(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name[:_MAX_QUOTED_CHARS], list(known), n=1)
    names = ", ".join(known)
    return f"; did you mean '{close[0]}'? Allowed are: {names}" if close else f"; allowed are: {names or 'none'}"


def quote_value(value: object) -> str:
    """Return a value in quotes, shortened for an error message."""
    try:
        text = well_formed(str(value))
    except ValueError:  # an integer of thousands of digits
        text = "a number"
    return f"'{text if len(text) <= _MAX_QUOTED_CHARS else text[:_MAX_QUOTED_CHARS] + '…'}'"
