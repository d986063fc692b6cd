"""`dirindex search` and `similar`: find passages, and files like a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from directory_indexer.cli.caller import current_caller
from directory_indexer.cli.commands import (
    ColorWhen,
    Cursor,
    InCollection,
    InCollections,
    Kinds,
    MetadataValues,
    NoServer,
    Null,
    OrdinaryCall,
    ResultFormat,
    open_app,
    open_existing_app,
    parse_location,
)
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.cli.results import ResultOptions, form_of, show_result
from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import ExitCode, NotIndexedError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, lies_in, resolved_path

with lazily:
    from directory_indexer.api import parse_cursor
    from directory_indexer.app import App
    from directory_indexer.cli.interactive import interact
    from directory_indexer.collections import Collections
    from directory_indexer.collections.search import directories_of_named_scope, search_collections
    from directory_indexer.core.notes import Note, NoteKind
    from directory_indexer.ranking.query import parse_filter_argument
    from directory_indexer.search.requests import (
        SearchMode,
        SearchRequest,
        SearchResult,
        metadata_conditions,
        parse_since,
        parse_until,
        sort_result,
    )
    from directory_indexer.search.sections import expand_to_sections
    from directory_indexer.text import json_pages
    from directory_indexer.text.reports import facet_lines
    from directory_indexer.text.results import View

_DEFAULT_LIMIT = 10
_INTERACTIVE_LIMIT = 30
_Mode = Literal["hybrid", "semantic", "keyword"]


class SearchCall(OrdinaryCall):
    """The command line of `search`."""

    query: Annotated[
        str | None, Argument('A question or words; also "a phrase", -without, path:, type:, heading: …')
    ] = None
    others: Annotated[
        tuple[str, ...], Argument("Directories or files to search in, and further filters.", metavar="[PATH]...")
    ] = ()
    also: Annotated[tuple[str, ...], Option(("--also",), "Also search this, and merge the hits.", metavar="QUERY")] = ()
    prefix: Annotated[bool, Option(("--prefix",), "Treat the last word as a prefix, as while typing.")] = False
    limit: Annotated[
        int | None, Option(("--limit", "-n"), f"How many hits [{_DEFAULT_LIMIT}].", minimum=1, maximum=1000)
    ] = None
    mode: Annotated[_Mode, Option(("--mode", "-m"), "Search by meaning, by words, or by both.")] = "hybrid"
    kinds: Kinds = ()
    globs: Annotated[
        tuple[str, ...], Option(("--glob", "-g"), "Only files that match, as in a .gitignore of the tracked directory.")
    ] = ()
    conditions: MetadataValues = MappingProxyType({})
    since: Annotated[str, Option(("--since",), "Only files dated then or later: 7d, 2w, 2026-01-31.")] = ""
    until: Annotated[str, Option(("--until",), "Only files dated then or earlier: 7d, 2026, 2026-01-31.")] = ""
    grep: Annotated[
        str, Option(("--grep",), "Only passages with a line that matches, as in grep.", metavar="PATTERN")
    ] = ""
    here: Annotated[bool, Option(("--here",), "Only the tracked directory that contains the working directory.")] = (
        False
    )
    no_tests: Annotated[bool, Option(("--no-tests",), "Exclude tests (same as -is:test).")] = False
    order: Annotated[Literal["score", "date", "path"], Option(("--sort",), "Order of the best hits.")] = "score"
    facets: Annotated[
        bool, Option(("--facets",), "Instead of hits, count the types, years, authors … of the files searched.")
    ] = False
    show_all: Annotated[bool, Option(("--all", "-a"), "Also show hits that are much weaker than the best.")] = False
    files: Annotated[bool, Option(("--files", "-l"), "Show one line per file.")] = False
    full: Annotated[
        bool, Option(("--full",), "Show whole passages; for three hits or fewer, the whole function or section.")
    ] = False
    n_lines: Annotated[
        int | None, Option(("--lines",), "Lines shown per hit on a terminal [4].", minimum=1, maximum=500)
    ] = None
    max_tokens: Annotated[
        int | None,
        Option(("--max-tokens",), "Only as many hits as fit into N tokens.", metavar="N", minimum=1),
    ] = None
    open_hit: Annotated[
        int | None, Option(("--open", "-o"), "Open hit N in $EDITOR, or its page in a viewer.", minimum=1, metavar="N")
    ] = None
    explain: Annotated[bool, Option(("--explain",), "Explain the rank of each hit.")] = False
    interactive: Annotated[
        bool, Option(("--interactive",), "Search as you type, with a preview; Enter opens a hit.")
    ] = False
    collections: InCollections = ()
    named_scope: Annotated[
        str, Option(("--scope",), "Only in the directories of this scope; see dirindex scope.", metavar="NAME")
    ] = ""
    cursor: Cursor = ""
    no_server: NoServer = False
    result_format: ResultFormat = None
    null: Null = False
    color: ColorWhen = "auto"


def search(call: SearchCall) -> ExitCode:
    """Find passages by meaning and by words, best first."""
    form = form_of(call.result_format, as_json=call.as_json, is_null=call.null)
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=form.startswith("json"), color=call.color)
    request, question = _request(call)
    position = parse_cursor(call.cursor, question=question)
    n_hits = call.limit or (_INTERACTIVE_LIMIT if call.interactive else _DEFAULT_LIMIT)
    request = request._replace(limit=position.limit(n_hits))
    open_index = open_app if call.collections else open_existing_app
    app = open_index(call.config, call.data_dir, output)
    collections = _open_collections(app, has_others=bool(call.collections or call.named_scope))
    if call.here:
        request = request._replace(scope=(*request.scope, root_around(app, Path.cwd())))
    if call.named_scope:
        request = _in_scope(collections, request, call.named_scope, call.collections)
    if call.facets:
        return _exit_code(is_good=bool(_show_facets(collections, request, call.collections, output)))
    request = request._replace(
        embedding_seconds=app.loaded.config.searching.embedding_ms / 1000, near=working_directory()
    )
    if call.interactive:
        return _interact(collections, request, call.collections, output)
    unpaged = _refresh_and_search(collections, request, call.collections)
    result = sort_result(call.order, position.rest(unpaged, limit=call.limit or _DEFAULT_LIMIT))
    if not (request.scope or call.collections):
        result = result._replace(notes=(*result.notes, *uncovered_directory_note(app)))
    result = _with_whole_sections(app, result) if call.full and not call.collections else result
    view = View.FILES if call.files else View.FULL if call.full else View.EXCERPTS
    show_result(
        result,
        output,
        app=app,
        index=lambda: result.summary if call.collections else app.status.correct_running_state(result.summary),
        options=ResultOptions(form, view, call.explain, call.n_lines or 0, call.open_hit or 0, call.max_tokens or 0),
        position=position,
    )
    return _exit_code(is_good=bool(result.hits) and not result.is_weak)


def _exit_code(*, is_good: bool) -> ExitCode:
    return ExitCode.DONE if is_good else ExitCode.INCOMPLETE


def _request(call: SearchCall) -> tuple[SearchRequest, tuple[object, ...]]:
    """Return the request of a command line, and the key of the cursors of its answer."""
    query, places = _query_and_places(_initial_query(call.query, is_interactive=call.interactive), call.others)
    query, *queries = (f"{text} -is:test" if call.no_tests else text for text in (query, *call.also))
    scope = tuple(dict.fromkeys(map(resolved_path, places)))
    request = SearchRequest(
        query=query,
        queries=tuple(queries),
        mode=SearchMode(call.mode),
        scope=scope,
        kinds=call.kinds,
        globs=call.globs,
        since=parse_since(call.since, name="--since"),
        until=parse_until(call.until, name="--until"),
        metadata=metadata_conditions(call.conditions, names={name: f"--{name}" for name in call.conditions}),
        only_good=not call.show_all,
        grep=call.grep,
        is_prefix=call.prefix,
    )
    question = (
        *(query, *queries, call.mode, *scope, call.kinds, call.globs, list(call.conditions.values())),
        *(call.since, call.until, call.collections, call.named_scope, call.grep),
        *(["prefix"] if call.prefix else []),
    )
    return request, question


def _initial_query(query: str | None, *, is_interactive: bool) -> str:
    if query is None and not is_interactive:
        raise UsageError("a query is missing", hint="dirindex search --help shows its arguments")
    return query or ""


def _open_collections(app: App, *, has_others: bool) -> Collections:
    """Return the collections of an index; a server shares only the default one with other processes."""
    if has_others:
        current_caller().require_same_process()
    return Collections(app)


def _interact(collections: Collections, request: SearchRequest, names: Sequence[str], output: Output) -> ExitCode:
    """Run the interactive search, and print the path and line of the accepted hit, if any."""
    for name in names or (DEFAULT,):
        collections.app_of(name).refresh(request.scope)

    def find(query: str) -> SearchResult:
        is_prefix = not query.endswith(" ")
        return search_collections(collections, names, request._replace(query=query, is_prefix=is_prefix))

    if path_and_line := interact(find, query=request.query, paths=output.paths, environ=os.environ):
        output.data(path_and_line)
    return ExitCode.DONE


def _with_whole_sections(app: App, result: SearchResult) -> SearchResult:
    with app.visible.snapshot() as snapshot:
        return result._replace(hits=expand_to_sections(snapshot, result.hits))


def _refresh_and_search(collections: Collections, request: SearchRequest, names: Sequence[str]) -> SearchResult:
    """Index what has changed, then search; changes that could not be indexed are noted."""
    notes = [note for name in names or (DEFAULT,) for note in collections.app_of(name).refresh(request.scope)]
    result = search_collections(collections, names, request)
    return result._replace(notes=(*notes, *result.notes))


def _in_scope(collections: Collections, request: SearchRequest, name: str, names: Sequence[str]) -> SearchRequest:
    collection = _require_one_collection(names, "--scope")
    paths = directories_of_named_scope(collections, collection, name)
    within = [
        path for path in paths if not request.scope or any(lies_in(path, directory) for directory in request.scope)
    ]
    around = [path for path in request.scope if any(lies_in(path, directory) for directory in paths)]
    if not within and not around:
        raise UsageError(
            f"{', '.join(map(display, request.scope))} does not lie in the scope '{name}'", hint="leave one of them out"
        )
    return request._replace(scope=(*within, *around))


def _query_and_places(query: str, others: Sequence[str]) -> tuple[str, list[Path]]:
    """Split the arguments into filters and places: a filter is what parses as one and is no path.

    A place that is a bare word must exist.
    """
    filters = {other: text for other in others if not os.path.lexists(other) and (text := parse_filter_argument(other))}
    places = [other for other in others if other not in filters]
    words = [place for place in places if os.sep not in place and not os.path.lexists(os.path.expanduser(place))]
    if words:
        raise UsageError(f"there is no '{words[0]}' to search in", hint="put a query of several words in quotes")
    return " ".join([query, *filters.values()]), list(map(parse_location, places))


def _show_facets(collections: Collections, request: SearchRequest, names: Sequence[str], output: Output) -> int:
    """Print the facets of the matching files, and return the number of files."""
    app = collections.app_of(_require_one_collection(names, "--facets"))
    facets = app.searcher.facets(request)
    if output.as_json:
        output.data(json_pages.facets_json(request, facets, index=app.status.summary()))
    else:
        output.lines(facet_lines(facets, paths=output.paths))
    return facets.n_files


def _require_one_collection(names: Sequence[str], option: str) -> str:
    if len(names) > 1:
        raise UsageError(f"{option} is about one collection, not several", hint="name one of them")
    return names[0] if names else DEFAULT


_MAX_NAMED = 3


def working_directory() -> FilePath | None:
    """Return the working directory, or None if it was removed."""
    try:
        return resolved_path(Path.cwd())
    except FileNotFoundError:
        return None


def root_around(app: App, directory: Path) -> FilePath:
    """Return the innermost tracked directory around a directory, or itself if it contains tracked ones.

    Raises:
        NotIndexedError: there is neither.
    """
    here = resolved_path(directory)
    tracked = _tracked_directories(app)
    around = [root for root in tracked if lies_in(here, root)]
    if around:
        return max(around, key=len)
    if any(lies_in(root, here) for root in tracked):
        return here
    raise NotIndexedError(f"{display(here)} lies in no tracked directory", hint="dirindex index . adds it")


def uncovered_directory_note(app: App) -> Iterator[Note]:
    """Yield a note that names the tracked directories, if the working directory is not among them."""
    here = working_directory()
    tracked = _tracked_directories(app)
    if here is None or any(lies_in(here, root) or lies_in(root, here) for root in tracked):
        return
    named = ", ".join(map(display, tracked[:_MAX_NAMED]))
    more = f" and {len(tracked) - _MAX_NAMED} more" if len(tracked) > _MAX_NAMED else ""
    note = f"the working directory is not indexed; the answer comes from {named}{more}"
    yield Note(note, NoteKind.ELSEWHERE)


def _tracked_directories(app: App) -> list[FilePath]:
    with app.docstore.snapshot() as snapshot:
        return list(snapshot.directories.all())


class SimilarCall(OrdinaryCall):
    """The command line of `similar`."""

    file: Annotated[Path, Argument("File to compare with; it need not be indexed.", parse=parse_location)]
    paths: Annotated[
        tuple[Path, ...], Argument("Directories or files to search in.", parse=parse_location, metavar="[PATH]...")
    ] = ()
    limit: Annotated[int, Option(("--limit", "-n"), "Maximum number of files.", minimum=1, maximum=1000)] = (
        _DEFAULT_LIMIT
    )
    cursor: Cursor = ""
    collection: InCollection = ""
    no_server: NoServer = False
    result_format: ResultFormat = None
    null: Null = False
    color: ColorWhen = "auto"


def similar(call: SimilarCall) -> ExitCode:
    """Find files like this one."""
    form = form_of(call.result_format, as_json=call.as_json, is_null=call.null)
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=form.startswith("json"), color=call.color)
    app = open_existing_app(call.config, call.data_dir, output, call.collection)
    within = tuple(dict.fromkeys(map(resolved_path, call.paths)))
    like = resolved_path(call.file)
    position = parse_cursor(call.cursor, question=("similar", like, *within))
    notes = app.refresh(within)
    unpaged = app.similar_files.find(like, within=within, limit=position.limit(call.limit))
    result = position.rest(unpaged._replace(notes=(*notes, *unpaged.notes)), limit=call.limit)
    show_result(
        result,
        output,
        app=app,
        index=lambda: app.status.correct_running_state(result.summary),
        options=ResultOptions(form, View.SCORED_FILES),
        position=position,
    )
    return ExitCode.DONE if result.hits and not result.is_weak else ExitCode.INCOMPLETE


COMMANDS = {
    "search": Command(SearchCall, search),
    "similar": Command(SimilarCall, similar),
}
