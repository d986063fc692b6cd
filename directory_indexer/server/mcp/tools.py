"""Implementation of the tools, independent of MCP: from arguments to an answer within a budget of tokens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from directory_indexer import __version__
from directory_indexer.api import parse_cursor
from directory_indexer.api.hits import SearchAnswer, index_state
from directory_indexer.api.status import Model, directory_of
from directory_indexer.api.symbols import LocateAnswer, SymbolAnswer, locate_answer, symbol_answer
from directory_indexer.collections.search import search_collections
from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import ProviderError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note
from directory_indexer.core.paths import FilePath
from directory_indexer.integrations.converting.converter import is_url
from directory_indexer.search.issue_localisation import LocateRequest, LocateResult, locate
from directory_indexer.search.requests import SearchMode, SearchResult
from directory_indexer.search.symbols import find_symbol, symbol_request
from directory_indexer.server.background_model import BackgroundModel
from directory_indexer.server.index_jobs import CollectionJobs
from directory_indexer.server.mcp import (
    Budgets,
    fits_budget,
    largest_number_that_fits,
)
from directory_indexer.server.mcp.answer import Answer, ServerAnswer, resource_links
from directory_indexer.server.mcp.answer_text import (
    converted_within_budget,
    escape_controls,
    format_converted,
    format_search_answer,
    format_server_info,
    run_within_budget,
)
from directory_indexer.server.mcp.arguments import (
    ArgumentError,
    ContentArguments,
    ConvertArguments,
    GrepCall,
    InfoArguments,
    LocateArguments,
    OutlineCall,
    SearchCall,
    SimilarArguments,
    SymbolArguments,
)
from directory_indexer.server.mcp.content_answer import fit_content_answer, format_content, read_requested_content
from directory_indexer.server.mcp.grep_outline import (
    format_grep_answer,
    grep_request,
    grep_within_budget,
    outline_of_name,
    outline_within_budget,
)
from directory_indexer.server.mcp.index_tool import IndexActions
from directory_indexer.server.mcp.search_answer import (
    AnswerPage,
    add_collection_names,
    facet_answer,
    parse_search_call,
    plain_search_answer,
    requested_collections,
    resolve_path_or_roots,
    resolve_scope,
    resolve_scope_refreshing,
    search_answer_within_budget,
    search_in,
)
from directory_indexer.server.path_resolution import resolve_file_and_lines
from directory_indexer.storage.documents.store import Snapshot
from directory_indexer.text.formatting import PathStyle, plain
from directory_indexer.text.structure import located_lines, symbol_lines

with lazily:
    from directory_indexer.collections import Collections
    from directory_indexer.config.settings import Config


HYBRID_TIMEOUT_SECONDS = 0.3
"""The longest wait of a hybrid search for a model that is being loaded; it then answers by keywords."""

SEMANTIC_TIMEOUT_SECONDS = 30.0
"""The longest wait of a semantic search."""

_MODEL_LOADING_NOTE = (
    "answered by keywords alone: the embedding model is still being loaded; repeat the call in a few "
    "seconds to search by meaning, too"
)
FETCH_URLS_HINT = "the operator of this server can enable it with serving.fetch_urls"
_MAX_COMPLETIONS = 100


class Tools:
    """The tools over all collections. Thread-safe."""

    def __init__(
        self, *, collections: Collections, model: BackgroundModel, jobs: CollectionJobs, allowed: Sequence[FilePath]
    ) -> None:
        self.collections = collections
        self._model = model
        self.jobs = jobs
        self.index = IndexActions(collections, jobs, allowed)
        self._allowed = tuple(allowed)

    def search(self, call: SearchCall) -> Answer:
        """Find passages, or return facet counts."""
        if call.facets:
            counted = self.facets(call)
            return Answer(format_search_answer(counted), counted)
        result, page = self.find(call)
        return (
            plain_search_answer(search_answer_within_budget(result, page), page)
            if call.plain
            else _search_answer(result, page)
        )

    def facets(self, call: SearchCall) -> SearchAnswer:
        """Return facet counts of the files that a search covers.

        Raises:
            UsageError: the call names several collections.
        """
        names = requested_collections(call)
        if len(names) > 1:
            raise UsageError("facets are those of one collection", hint="name one of them")
        request, position = parse_search_call(call, embedding_ms=self._config.serving.embedding_ms)
        with self.collections.opened(names[0]) as opened:
            request = request._replace(scope=resolve_path_or_roots(opened, call.path))
            page = AnswerPage(position, call.max_tokens, opened.app.status.summary())
            return facet_answer(request, opened.app.searcher.facets(request), page)

    def find(self, call: SearchCall) -> tuple[SearchResult, AnswerPage]:
        """Find passages, without those of earlier pages."""
        request, position = parse_search_call(call, embedding_ms=self._config.serving.embedding_ms)
        mode, notes = self._mode_by_model_state(call.mode)
        resolve = resolve_scope_refreshing if call.refresh else resolve_scope
        merged = search_collections(
            self.collections,
            requested_collections(call),
            request._replace(mode=mode, is_prefix=call.prefix),
            search=lambda opened, scoped_request: search_in(opened, scoped_request, call.path, resolve=resolve),
        )
        result = position.rest(merged._replace(notes=(*map(Note, notes), *merged.notes)), limit=call.limit)
        plain_collections = requested_collections(call) if call.plain else ()
        return result, AnswerPage(position, call.max_tokens, result.summary, plain_collections)

    def grep(self, call: GrepCall) -> Answer:
        """Find all lines that match a pattern."""
        with self.collections.opened(call.collection) as opened:
            scope, notes = resolve_scope_refreshing(opened, call.path)
            with opened.app.visible.snapshot() as snapshot:
                changes = tuple(map(str, notes))
                answer = grep_within_budget(snapshot, grep_request(call, scope), changes, max_tokens=call.max_tokens)
        return Answer(format_grep_answer(answer), answer)

    def similar_files(self, call: SimilarArguments) -> Answer:
        """Find files that are similar to an indexed one."""
        position = parse_cursor(call.cursor, question=("similar", call.path, call.within, call.collection))
        with self.collections.opened(call.collection) as opened:
            app = opened.app
            with app.visible.snapshot() as snapshot:
                path, _ = resolve_file_and_lines(snapshot, call.path)
            self._model.is_usable(within_seconds=SEMANTIC_TIMEOUT_SECONDS)
            scope, notes = resolve_scope_refreshing(opened, call.within)
            similar = app.similar_files.find(path, within=scope, limit=position.limit(call.limit))
            result = similar._replace(
                request=similar.request._replace(mode=SearchMode.SEMANTIC),
                hits=add_collection_names(opened, similar.hits),
                notes=(*notes, *similar.notes),
            )
            page = AnswerPage(position, call.max_tokens, app.status.correct_running_state(result.summary))
        return _search_answer(position.rest(result, limit=call.limit), page)

    def get_content(self, call: ContentArguments) -> Answer:
        """Read the indexed text of a file, or list a directory."""
        with self.collections.opened(call.collection) as opened, opened.app.visible.snapshot() as snapshot:
            text = read_requested_content(snapshot, call)
        answer = fit_content_answer(text, max_tokens=call.max_tokens)
        return Answer(format_content(answer), answer)

    def outline(self, call: OutlineCall) -> Answer:
        """Return the outline of a file or a directory."""
        with self.collections.opened(call.collection) as opened, opened.app.visible.snapshot() as snapshot:
            outline = outline_of_name(snapshot, call.path)
        answer = outline_within_budget(outline, max_tokens=call.max_tokens)
        return Answer(answer.outline or "", answer)

    def symbol(self, call: SymbolArguments) -> Answer:
        """Find where a name is defined and used."""
        with self.collections.opened(call.collection) as opened:
            scope, notes = resolve_scope_refreshing(opened, call.path)
            with opened.app.visible.snapshot() as snapshot:
                answer = symbol_within_budget(snapshot, call, scope, map(str, notes))
        return Answer(format_locations(answer), answer)

    def locate(self, call: LocateArguments) -> Answer:
        """Find what to read for a report."""
        seconds = self._config.serving.embedding_ms / 1000
        mode, notes = self._mode_by_model_state(SearchMode.HYBRID)
        with self.collections.opened(call.collection) as opened:
            scope, changes = resolve_scope_refreshing(opened, call.path)
            request = LocateRequest(call.report, scope, mode, call.max_tokens, embedding_seconds=seconds)
            located = locate(opened.app.visible, opened.app.searcher, request)
        answer = locate_within_budget(located, (*notes, *map(str, changes)), max_tokens=call.max_tokens)
        return Answer(format_locations(answer), answer)

    def convert_to_text(self, call: ConvertArguments) -> Answer:
        """Convert an indexed file, or a document from the web, to Markdown."""
        if not is_url(call.source):
            _, text = self.converted_file(call.source, call.collection)
        elif not self._config.serving.fetch_urls:
            raise UsageError("fetching from the web is disabled on this server", hint=FETCH_URLS_HINT)
        else:
            with self.collections.opened(call.collection) as opened:
                text = opened.app.converter.convert_url(call.source)
        answer = converted_within_budget(call.source, text, call)
        return Answer(format_converted(answer), answer)

    def converted_file(self, name: str, collection: str) -> tuple[FilePath, str]:
        """Return the path of an indexed file, and the whole file as Markdown.

        Raises:
            NotIndexedError: no such file is indexed.
            UsageError: the name is ambiguous, or the file cannot be read.
        """
        with self.collections.opened(collection) as opened:
            app = opened.app
            with app.visible.snapshot() as snapshot:
                path, _ = resolve_file_and_lines(snapshot, name)
            return path, app.converter.convert_file(path, follow_links=app.policies.parse.follow_symlinks)

    def server_info(self, call: InfoArguments, grants_collection: Callable[[str], bool]) -> Answer:
        """Return the indexed directories of a collection, its index run, and the state of the model."""
        with self.collections.opened(call.collection) as opened:
            status, may_index = opened.app.status, opened.app.writes
            directories = tuple(map(directory_of, status.report().directories))
            index = index_state(status.summary())
        embedding = self._config.embedding
        run = self.jobs.jobs_of(call.collection).current()
        info = ServerAnswer(
            version=__version__,
            directories=directories,
            allowed=self._allowed,
            model=Model(embedding.model, embedding.provider, None, self._model.state, self._model.message or None),
            index=index,
            run=run and run_within_budget(run),
            collections=tuple(name for name in self.collections.names() if name != DEFAULT and grants_collection(name)),
        )
        format_info = partial(format_server_info, may_index=may_index)
        answer = _server_answer_within_budget(info, format_info)
        return Answer(format_info(answer), answer)

    def completions(self, prefix: str) -> tuple[list[str], int]:
        """Return completions of the path of an indexed file, and their total number."""
        typed = prefix if os.path.isabs(prefix) else f"/{prefix}"
        with self.collections.opened(DEFAULT) as opened, opened.app.visible.snapshot() as snapshot:
            typed_paths = snapshot.path_lookup
            paths = sorted(typed_paths.starting_with(typed) or typed_paths.containing(prefix))
        return [path.removeprefix("/") for path in paths[:_MAX_COMPLETIONS]], len(paths)

    def _mode_by_model_state(self, mode: SearchMode) -> tuple[SearchMode, tuple[str, ...]]:
        if mode is SearchMode.KEYWORD:
            return mode, ()
        timeout = SEMANTIC_TIMEOUT_SECONDS if mode is SearchMode.SEMANTIC else HYBRID_TIMEOUT_SECONDS
        if self._model.is_usable(within_seconds=timeout):
            return mode, ()
        if mode is SearchMode.SEMANTIC:
            raise ProviderError("the embedding model is still being loaded")
        return SearchMode.KEYWORD, (_MODEL_LOADING_NOTE,)

    @property
    def _config(self) -> Config:
        return self.collections.app.loaded.config


def _search_answer(result: SearchResult, page: AnswerPage) -> Answer:
    answer = search_answer_within_budget(result, page)
    return Answer(format_search_answer(answer), answer, resource_links(answer, result))


_N_SHARES_OF_BUDGET = 16
_READ_NEXT_TEXT = "Next: get_content(path, start_line, end_line) reads one of these places.\n"
_UNKNOWN_NAME_TEXT = "The name stands nowhere in what is indexed. Next: search for what it does.\n"
_NO_PLACE_TEXT = "Nothing in the index speaks for a place. Next: search with other words.\n"


def symbol_within_budget(
    snapshot: Snapshot, call: SymbolArguments, scope: tuple[FilePath, ...], notes: Iterable[str]
) -> SymbolAnswer:
    """Return the answer on a name, as much of it as fits.

    Raises:
        UsageError: the call has no valid name.
        ArgumentError: not even a definition fits.
    """
    symbol = find_symbol(snapshot, symbol_request(call.name, scope=scope, depth=call.levels))
    whole = symbol_answer(symbol, notes=(*notes, *symbol.spelling_notes))

    def answer(room: int) -> SymbolAnswer:
        text = plain(symbol_lines(symbol, paths=PathStyle(), max_tokens=room))
        return whole._replace(answer=text + _READ_NEXT_TEXT if symbol.has_results else _UNKNOWN_NAME_TEXT)

    rooms = (call.max_tokens * share // _N_SHARES_OF_BUDGET for share in range(_N_SHARES_OF_BUDGET, 0, -1))
    fitting = next((part for room in rooms if _fits_budget(part := answer(room), call.max_tokens)), None)
    if fitting is None:
        raise ArgumentError("max_tokens is too small for the definitions; repeat the call with more")
    return fitting


def locate_within_budget(located: LocateResult, notes: Iterable[str], *, max_tokens: int) -> LocateAnswer:
    """Return the places to read, as many as fit."""
    whole = locate_answer(located, notes=notes)
    lines = plain(located_lines(located, paths=PathStyle())).splitlines(keepends=True)
    n_lines = largest_number_that_fits(
        len(lines), lambda n: _fits_budget(_locate_answer_of_lines(whole, lines[:n]), max_tokens)
    )
    return _locate_answer_of_lines(whole, lines[:n_lines])


def _server_answer_within_budget(whole: ServerAnswer, format_info: Callable[[ServerAnswer], str]) -> ServerAnswer:
    """Return an answer whose two lists are cut to the budget, which they share equally."""
    directories, collections = whole.directories, whole.collections

    def part(n_directories: int, n_collections: int) -> ServerAnswer:
        return whole._replace(
            directories=directories[:n_directories],
            left_out=max(len(directories) - n_directories, 0),
            collections=collections[:n_collections],
            collections_left_out=max(len(collections) - n_collections, 0),
        )

    def fits(n_directories: int, n_collections: int) -> bool:
        return fits_budget(part(n_directories, n_collections), Budgets.INFO, format_info)

    n_each = largest_number_that_fits(max(len(directories), len(collections)), lambda n: fits(n, n))
    n_directories = largest_number_that_fits(len(directories), lambda n: fits(n, n_each))
    return part(n_directories, largest_number_that_fits(len(collections), lambda n: fits(n_directories, n)))


def format_locations(answer: SymbolAnswer | LocateAnswer) -> str:
    """Format the locations of an answer as self-contained text."""
    return "".join((answer.answer or "", *(f"Note: {escape_controls(note)}\n" for note in answer.notes)))


def _locate_answer_of_lines(whole: LocateAnswer, lines: Sequence[str]) -> LocateAnswer:
    return whole._replace(answer="".join((*lines, _READ_NEXT_TEXT if lines else _NO_PLACE_TEXT)))


def _fits_budget(answer: SymbolAnswer | LocateAnswer, max_tokens: int) -> bool:
    return fits_budget(answer, max_tokens, format_locations)
