"""`dirindex search`: find passages, by default around the working directory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from directory_indexer.cli.arguments import parse_location
from directory_indexer.cli.caller import current_caller
from directory_indexer.cli.opening import open_app, open_existing_app
from directory_indexer.cli.options import (
    AsJson,
    ColorWhen,
    ConfigFile,
    Cursor,
    DataDir,
    InCollections,
    NoServer,
    Null,
    Quiet,
    ResultFormat,
    Verbose,
    new_command_line,
    with_metadata_options,
)
from directory_indexer.cli.output import Output
from directory_indexer.cli.results import ResultOptions, form_of, show_result
from directory_indexer.config.collections import DEFAULT
from directory_indexer.core.errors import ExitCode, NotIndexedError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, lies_in, resolved_path

with lazily:
    from directory_indexer.api.cursors import parse_cursor
    from directory_indexer.app import App
    from directory_indexer.cli.interactive import interact
    from directory_indexer.collections.collections import Collections
    from directory_indexer.collections.search import scope_directories, search_collections
    from directory_indexer.core.notes import Note, NoteKind
    from directory_indexer.ranking.query import parse_filter_argument
    from directory_indexer.search.requests import (
        SearchMode,
        SearchRequest,
        SearchResult,
        metadata_conditions,
        since_moment,
        sort_result,
        until_moment,
    )
    from directory_indexer.search.sections import expand_to_sections
    from directory_indexer.text import json_pages
    from directory_indexer.text.reports import facet_lines
    from directory_indexer.text.results import View


# ruff: noqa: PLR0913 - each option of a command is a parameter of its function


_DEFAULT_LIMIT = 10
_INTERACTIVE_LIMIT = 30
_Mode = Literal["hybrid", "semantic", "keyword"]

cli = new_command_line()


@cli.command()
@with_metadata_options
def search(
    *,
    conditions: dict[str, list[str]],
    query: Annotated[
        str | None, typer.Argument(help='A question or words; also "a phrase", -without, path:, type:, heading: …')
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Directories or files to search in, and further filters."),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option("--also", metavar="QUERY", help="Ask this, too, and merge the answers."),
    ] = None,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Take the last word for the beginning of words, as while it is typed.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=1000, help=f"How many hits [{_DEFAULT_LIMIT}].")
    ] = None,
    mode: Annotated[_Mode, typer.Option("--mode", "-m", help="Search by meaning, by words, or by both.")] = "hybrid",
    kinds: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="Only files of this kind: python, md, pdf …")
    ] = None,
    globs: Annotated[
        list[str] | None,
        typer.Option("--glob", "-g", help="Only files that match, as in a .gitignore of the tracked directory."),
    ] = None,
    since: Annotated[str, typer.Option("--since", help="Only files dated then or later: 7d, 2w, 2026-01-31.")] = "",
    until: Annotated[str, typer.Option("--until", help="Only files dated then or earlier: 7d, 2026, 2026-01-31.")] = "",
    grep: Annotated[
        str, typer.Option("--grep", metavar="PATTERN", help="Only passages with a line that matches, as in grep.")
    ] = "",
    here: Annotated[
        bool, typer.Option("--here", help="Only in the tracked directory around the working directory.")
    ] = False,
    no_tests: Annotated[bool, typer.Option("--no-tests", help="Leave tests out, as -is:test does.")] = False,
    order: Annotated[
        Literal["score", "date", "path"], typer.Option("--sort", help="Order of the best hits.")
    ] = "score",
    facets: Annotated[
        bool, typer.Option("--facets", help="Instead of hits, count the types, years, authors … of the files searched.")
    ] = False,
    show_all: Annotated[
        bool, typer.Option("--all", "-a", help="Show hits that are much weaker than the best, too.")
    ] = False,
    files: Annotated[bool, typer.Option("--files", "-l", help="Show one line per file.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Show whole chunks; for three hits or fewer, the whole function or section.")
    ] = False,
    n_lines: Annotated[
        int | None, typer.Option("--lines", min=1, max=500, help="Lines shown per hit on a terminal [4].")
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens", metavar="N", min=1, help="Only as many hits as fit into N tokens (of three bytes)."
        ),
    ] = None,
    opened: Annotated[
        int | None,
        typer.Option("--open", "-o", min=1, metavar="N", help="Open hit N in $EDITOR, or its page in a viewer."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain the rank of each hit.")] = False,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="Search as you type, with a preview; Enter opens a hit.")
    ] = False,
    collections: InCollections = None,
    named_scope: Annotated[
        str, typer.Option("--scope", metavar="NAME", help="Only in the directories of this scope; see dirindex scope.")
    ] = "",
    cursor: Cursor = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    _no_server: NoServer = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    result_format: ResultFormat = None,
    null: Null = False,
    color: ColorWhen = "auto",
    as_json: AsJson = False,
) -> None:
    """Find passages by meaning and by words, best first."""
    form = form_of(result_format, as_json=as_json, is_null=null)
    output = Output(quiet=quiet, verbose=verbose, as_json=form.startswith("json"), color=color)
    query, places = _query_and_places(_initial_query(query, is_interactive=interactive), others or ())
    query, *queries = (f"{text} -is:test" if no_tests else text for text in (query, *(also or ())))
    scope = tuple(dict.fromkeys(map(resolved_path, places)))
    question = (
        query,
        *queries,
        mode,
        *scope,
        kinds,
        globs,
        list(conditions.values()),
        since,
        until,
        collections,
        named_scope,
        grep,
        *(["prefix"] if prefix else []),
    )
    position = parse_cursor(cursor, question=question)
    request = SearchRequest(
        query=query,
        queries=tuple(queries),
        mode=SearchMode(mode),
        limit=position.limit(limit or (_INTERACTIVE_LIMIT if interactive else _DEFAULT_LIMIT)),
        scope=scope,
        kinds=tuple(kinds or ()),
        globs=tuple(globs or ()),
        since=since_moment(since, name="--since"),
        until=until_moment(until, name="--until"),
        metadata=metadata_conditions(conditions, names={name: f"--{name}" for name in conditions}),
        only_good=not show_all,
        grep=grep,
        is_unfinished=prefix,
    )
    view = View.FILES if files else View.FULL if full else View.EXCERPTS
    app = open_app(config, data_dir, output) if collections else open_existing_app(config, data_dir, output)
    team = _team(app, has_others=bool(collections or named_scope))
    if here:
        request = request._replace(scope=(*request.scope, root_around(app, Path.cwd())))
    if named_scope:
        request = _in_scope(team, request, named_scope, collections or ())
    if facets:
        n_files = _show_facets(team, request, collections or (), output)
        raise typer.Exit(ExitCode.DONE if n_files else ExitCode.INCOMPLETE)
    request = request._replace(
        embedding_seconds=app.loaded.config.searching.embedding_ms / 1000, near=working_directory()
    )
    if interactive:
        raise typer.Exit(_interact(team, request, collections or (), output))
    unpaged = _refresh_and_search(team, request, collections or ())
    result = sort_result(order, position.rest(unpaged, limit=limit or _DEFAULT_LIMIT))
    if not (request.scope or collections):
        result = result._replace(notes=(*result.notes, *uncovered_directory_note(app)))
    result = _with_whole_sections(app, result) if full and not collections else result
    show_result(
        result,
        output,
        app=app,
        index=lambda: result.summary if collections else app.status.checked(result.summary),
        how=ResultOptions(form, view, explain, n_lines or 0, opened or 0, max_tokens or 0),
        position=position,
    )
    raise typer.Exit(ExitCode.DONE if result.hits and not result.is_weak else ExitCode.INCOMPLETE)


def _initial_query(query: str | None, *, is_interactive: bool) -> str:
    if query is None and not is_interactive:
        raise UsageError("a query is missing", hint="dirindex search --help tells what it takes")
    return query or ""


def _team(app: App, *, has_others: bool) -> Collections:
    """Return the collections of an index, of which a server shares only the first with other processes."""
    if has_others:
        current_caller().require_same_process()
    return Collections(app)


def _interact(team: Collections, request: SearchRequest, collections: Sequence[str], output: Output) -> ExitCode:
    """Run the interactive search, and print the path and line of the accepted hit, if any."""
    for name in collections or (DEFAULT,):
        team.app_of(name).refresh(request.scope)

    def find(query: str) -> SearchResult:
        is_unfinished = not query.endswith(" ")
        return search_collections(team, collections, request._replace(query=query, is_unfinished=is_unfinished))

    if path_and_line := interact(find, query=request.query, paths=output.paths, environ=os.environ):
        output.data(path_and_line)
    return ExitCode.DONE


def _with_whole_sections(app: App, result: SearchResult) -> SearchResult:
    with app.docstore.snapshot() as snapshot:
        return result._replace(hits=expand_to_sections(snapshot, result.hits))


def _refresh_and_search(team: Collections, request: SearchRequest, collections: Sequence[str]) -> SearchResult:
    """Index what has changed, then search; changes that could not be indexed are noted."""
    names = collections or (DEFAULT,)
    notes = [note for name in names for note in team.app_of(name).refresh(request.scope)]
    result = search_collections(team, collections, request)
    return result._replace(notes=(*notes, *result.notes))


def _in_scope(team: Collections, request: SearchRequest, name: str, collections: Sequence[str]) -> SearchRequest:
    collection = _only_one(collections, "--scope")
    paths = scope_directories(team, collection, name)
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

    Of several places, none may be a bare word.
    """
    filters = {other: text for other in others if not os.path.lexists(other) and (text := parse_filter_argument(other))}
    places = [other for other in others if other not in filters]
    words = [place for place in places if os.sep not in place and not os.path.lexists(os.path.expanduser(place))]
    if len(places) > 1 and words:
        raise UsageError(f"there is no '{words[0]}' to search in", hint="put a query of several words in quotes")
    return " ".join([query, *filters.values()]), list(map(parse_location, places))


def _show_facets(team: Collections, request: SearchRequest, collections: Sequence[str], output: Output) -> int:
    """Print the facets of the matching files, and return the number of files."""
    app = team.app_of(_only_one(collections, "--facets"))
    facets = app.searcher.facets(request)
    if output.as_json:
        output.data(json_pages.facets_json(request, facets, index=app.status.summary()))
    else:
        output.lines(facet_lines(facets, paths=output.paths))
    return facets.n_files


def _only_one(collections: Sequence[str], option: str) -> str:
    if len(collections) > 1:
        raise UsageError(f"{option} is about one collection, not several", hint="name one of them")
    return collections[0] if collections else DEFAULT


_MOST_NAMED = 3


def working_directory() -> FilePath | None:
    """Return the working directory, or None if it was removed."""
    try:
        return resolved_path(Path.cwd())
    except FileNotFoundError:
        return None


def root_around(app: App, directory: Path) -> FilePath:
    """Return the innermost tracked directory around a directory, or that itself if tracked ones are below it.

    Raises:
        NotIndexedError: there is neither.
    """
    here = resolved_path(directory)
    tracked = _tracked(app)
    around = [root for root in tracked if lies_in(here, root)]
    if around:
        return max(around, key=len)
    if any(lies_in(root, here) for root in tracked):
        return here
    raise NotIndexedError(f"{display(here)} lies in no tracked directory", hint="dirindex index . adds it")


def uncovered_directory_note(app: App) -> Iterator[Note]:
    """Yield a note that names the tracked directories, if the working directory is not among them."""
    here = working_directory()
    tracked = _tracked(app)
    if here is None or any(lies_in(here, root) or lies_in(root, here) for root in tracked):
        return
    named = ", ".join(map(display, tracked[:_MOST_NAMED]))
    more = f" and {len(tracked) - _MOST_NAMED} more" if len(tracked) > _MOST_NAMED else ""
    note = f"the working directory is not indexed; the answer comes from {named}{more}"
    yield Note(note, NoteKind.ELSEWHERE)


def _tracked(app: App) -> list[FilePath]:
    with app.docstore.snapshot() as snapshot:
        return list(snapshot.directories.all())
