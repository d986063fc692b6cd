"""`dirindex serve`: the index over MCP, and over HTTP also as a REST API.

Importing the MCP SDK takes more than a second of processor time, so it is imported only when a server runs.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from directory_indexer.config import DEFAULT
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.embedding import Embedder
from directory_indexer.indexing.background_runs import index_command
from directory_indexer.server.lifecycle import (
    CLUSTER_INSTRUCTIONS,
    INSTRUCTIONS,
    EarlyHandshake,
    log_to_stderr,
    pause_garbage_collection,
)
from directory_indexer.server.middleware.access import Access
from directory_indexer.storage.documents.runs import Origin

with lazily:
    from directory_indexer.app import App
    from directory_indexer.collections import Collections
    from directory_indexer.collections.background import Administration, IngestWorker
    from directory_indexer.indexing.background_runs import EmbeddingProcess
    from directory_indexer.server.admin_jobs import AdminJobs
    from directory_indexer.server.background_model import BackgroundModel
    from directory_indexer.server.http import HttpParts, run_http
    from directory_indexer.server.index_jobs import CollectionJobs, IndexJobs
    from directory_indexer.server.mcp.executor import ToolExecutor
    from directory_indexer.server.mcp.protocol import make_server, toolset_for_app
    from directory_indexer.server.mcp.tools import Tools
    from directory_indexer.server.middleware.authentication import BrowserSessions
    from directory_indexer.server.middleware.monitoring import LogFormat, start_logging
    from directory_indexer.server.stdio import run_stdio
    from directory_indexer.server.ui.hosting import PageHost, PageOptions
    from directory_indexer.server.watching import DirectoryWatch
    from directory_indexer.storage.registry.keys import Keys


__all__ = ["ServeOptions", "index_command", "serve_http", "serve_page", "serve_stdio"]

_THREAD_SWITCH_INTERVAL_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of a server; clients may index the `allowed` directories and those below them."""

    allowed: tuple[FilePath, ...] = ()
    watch: bool = False
    verbose: bool = False


def serve_stdio(app: App, options: ServeOptions) -> NoReturn:
    """Serve one client on standard input and output until it disconnects."""
    parent = os.getppid()  # read now: the parent may exit before the server runs
    _set_signal_handlers_and_switch_interval()
    log_to_stderr(verbose=options.verbose)
    greeter = EarlyHandshake(INSTRUCTIONS if app.writes else CLUSTER_INSTRUCTIONS)
    greeter.start()

    with pause_garbage_collection():
        parts = _build_parts(app, options)
        server = make_server(parts.executor, parts.model, toolset=toolset_for_app(app))
    greeter.stop()

    def close() -> None:
        parts.close()
        if not app.writes:
            app.close()

    run_stdio(server, greeter, parent=parent, close=close)


def serve_http(app: App, options: ServeOptions, access: Access, log_format: LogFormat) -> NoReturn:
    """Serve any number of clients over HTTP until a signal arrives.

    Raises:
        UsageError: other users or machines could read the index without a token.
        UnavailableError: the address is in use.
    """
    access.require_safe(has_keys=bool(Keys(app.registry).all()))
    _set_signal_handlers_and_switch_interval()
    start_logging(log_format, verbose=options.verbose)
    _serve_over_http(app, options, access, None)


def serve_page(app: App, options: ServeOptions, access: Access, page_options: PageOptions) -> NoReturn:
    """Serve the web page to the local user and open it, until a signal arrives or the page is idle for long.

    Raises:
        UnavailableError: the address is in use.
    """
    _set_signal_handlers_and_switch_interval()
    start_logging(LogFormat.TEXT, verbose=options.verbose)
    page = PageHost(BrowserSessions(clock=time.monotonic), page_options, app.loaded.data_dir)
    _serve_over_http(app, options, access, page)


def _serve_over_http(app: App, options: ServeOptions, access: Access, page: PageHost | None) -> NoReturn:
    with pause_garbage_collection():
        parts = _build_parts(app, options)
        server_factory = functools.partial(make_server, parts.executor, parts.model, toolset=toolset_for_app(app))
        tools = parts.executor.tools
        administration = Administration(app.registry, app.loaded.data_dir, AdminJobs(app, tools).all())
        http_parts = HttpParts(app, parts.executor, parts.model, IngestWorker(tools.collections), administration, page)
    if page is not None:
        parts.model.start()
    run_http(server_factory, http_parts, access, close=parts.close)


@dataclass(frozen=True, slots=True)
class _ServerParts:
    executor: ToolExecutor
    model: BackgroundModel
    jobs: CollectionJobs
    watch: DirectoryWatch | None
    embedding: EmbeddingProcess | None

    def close(self) -> None:
        if self.embedding is not None:
            self.embedding.stop()
        if self.watch is not None:
            self.watch.stop()
        self.jobs.close()


def _set_signal_handlers_and_switch_interval() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _exit_on_signal)
    # A search works in three threads at once; each may wait this long for the interpreter lock at every switch.
    sys.setswitchinterval(_THREAD_SWITCH_INTERVAL_SECONDS)


def _exit_on_signal(number: int, _: object) -> NoReturn:
    """Exit before the server runs: there is nothing to close yet."""
    os._exit(128 + number)


def _build_parts(app: App, options: ServeOptions) -> _ServerParts:
    app.origin = Origin.SERVER
    model = BackgroundModel(lambda: _load_model(app))
    collections = Collections(app)
    jobs = CollectionJobs(collections, command=index_command)
    tools = Tools(collections=collections, model=model, jobs=jobs, allowed=options.allowed if app.writes else ())
    watch = _start_watch(app, jobs.jobs_of(DEFAULT)) if options.watch and app.writes else None
    if watch is not None:
        app.is_watched = lambda: watch.is_watching
    embeds = app.writes and app.policies.embeds_in_background(is_watching=options.watch)
    embedding = app.runs.embedding_process() if embeds else None
    if embedding is not None:
        embedding.start()
    return _ServerParts(ToolExecutor(tools), model, jobs, watch, embedding)


def _load_model(app: App) -> Embedder:
    """Load the model while a thread reads the database into memory: searches of a large one would wait for the disk."""
    threading.Thread(target=app.docstore.warm_page_cache, name="reader", daemon=True).start()
    return app.embedders.of(app.answering_space())


def _start_watch(app: App, jobs: IndexJobs) -> DirectoryWatch:
    def tracked() -> list[FilePath]:
        with app.docstore.snapshot() as snapshot:
            return list(snapshot.directories.all())

    def directories(roots: Sequence[FilePath]) -> Iterator[FilePath]:
        return app.runs.indexer.directory_plans.directories(roots)

    database = app.loaded.config.storage.sqlite_path
    watch = DirectoryWatch(
        tracked=tracked,
        directories=directories,
        jobs=jobs,
        is_paused=lambda: bool(app.runs.control.paused()),
        lock_path=database.with_name("watch.lock"),
        data_dir=database.parent,
    )
    watch.start()
    return watch
