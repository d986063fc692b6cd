"""The commands: options become records, one call does the work, and what comes back is rendered.

What a command needs is imported when it is used, so that `--help` and completion load no model, no parser and no store.
"""

# ruff: noqa: PLR0913 - see above; each option of a command is a parameter of its function

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from directory_indexer import __version__
from directory_indexer.cli.options import AsJson, ConfigFile, DataDir, Quiet, Verbose, first_and_last, given_path, since
from directory_indexer.cli.output import Output
from directory_indexer.errors import ConsentNeededError, DirIndexError, ExitCode, StoreError, UsageError
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, display, exact_text, resolved_path
from directory_indexer.render.printable import printable
from directory_indexer.searching.answers import SearchResult

with lazily:
    from directory_indexer import watcher
    from directory_indexer.app import App
    from directory_indexer.config import config_location, load_config
    from directory_indexer.config.example import write_example
    from directory_indexer.docstore.runs import Outcome
    from directory_indexer.findings import Verdict
    from directory_indexer.indexing.indexer import IndexOptions
    from directory_indexer.indexing.report import IndexReport
    from directory_indexer.render import answers, json_pages, reports
    from directory_indexer.render.answers import View
    from directory_indexer.render.spans import plain
    from directory_indexer.searching.answers import SearchMode, SearchRequest
    from directory_indexer.searching.texts import Selection, Unit, read_text
    from directory_indexer.server import ServeOptions, serve_http, serve_stdio
    from directory_indexer.server.access import Access, names_of, parse_address, read_token
    from directory_indexer.server.client_configs import client_named, launch_of, place, snippet
    from directory_indexer.signals import StopSwitch


_DEFAULT_LIMIT = 10
_FAILURES_TOLD = 5
_Mode = Literal["hybrid", "semantic", "keyword"]

cli = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
config_cli = typer.Typer(rich_markup_mode=None)
cli.add_typer(config_cli, name="config")


def _show_version(*, version: bool) -> None:
    if version:
        Output(quiet=False, verbose=False, as_json=False).data(f"dirindex {__version__}")
        raise typer.Exit


@cli.callback()
def dirindex(
    *,
    version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
) -> None:
    """Find passages in your own directories by meaning and by words."""


@cli.command()
def index(
    *,
    paths: Annotated[
        list[Path] | None, typer.Argument(parser=given_path, help="Directories; none: all that are tracked.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Read every file again, changed or not.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Keep running, and index what changes.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for a running index job, or exit with 4.")
    ] = True,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", help="Stop after so many seconds; the next run resumes.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    accept_mounts: Annotated[
        bool,
        typer.Option("--accept-mounts", help="File systems mounted now replace others: what they lack is removed."),
    ] = False,
    exact: Annotated[bool, typer.Option("--exact", hidden=True, help="The paths are resolved already.")] = False,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Add directories to the index, or bring tracked ones up to date."""
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    wanted = [os.fspath(path) for path in paths or ()]
    app = _app(config, data_dir, output)
    if dry_run:
        plans = app.indexer.plans(wanted)
        if as_json:
            output.data(json_pages.plan_json(plans, app.indexer.estimate(plans)))
        else:
            estimate = app.indexer.estimate(plans)
            output.lines(reports.plan_lines(plans, estimate, paths=output.paths, verbose=verbose))
        return
    options = IndexOptions(
        read_everything=force, has_consent=yes or force, wait=wait, is_exact=exact, accepts_mounts=accept_mounts
    )
    switch = StopSwitch(max_seconds=max_seconds)
    report = _run(app, wanted, options, switch, output)
    if as_json:
        output.data(json_pages.index_json(report))
    elif not quiet:
        output.lines(reports.index_lines(report, paths=output.paths, verbose=verbose))
    else:
        _tell_failures(report)
    if watch:
        _watch(app, wanted, switch, output)
    raise typer.Exit(report.exit_code)


@cli.command()
def search(
    *,
    query: Annotated[str, typer.Argument(help='A question, or words, "a phrase", -without, path:, type:, heading:.')],
    path: Annotated[Path | None, typer.Argument(parser=given_path, help="Directory or file to search in.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=1000, help=f"How many hits [{_DEFAULT_LIMIT}].")
    ] = None,
    mode: Annotated[_Mode, typer.Option("--mode", "-m", help="By meaning, by words, or both.")] = "hybrid",
    kinds: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="Only files of this kind: python, md, pdf …")
    ] = None,
    globs: Annotated[
        list[str] | None,
        typer.Option("--glob", "-g", help="Only files that match, as in a .gitignore of the tracked directory."),
    ] = None,
    modified: Annotated[
        str | None, typer.Option("--since", help="Only files modified since: 7d, 2w, 2026-01-31.")
    ] = None,
    files: Annotated[bool, typer.Option("--files", "-l", help="One line a file.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The whole chunk, not an excerpt.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each hit stands where it does.")] = False,
    cursor: Annotated[
        int, typer.Option("--cursor", min=0, max=10_000, help="Go on where the last page ended.", show_default=False)
    ] = 0,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Find passages by meaning and by words, best first."""
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    request = SearchRequest(
        query=query,
        mode=SearchMode(mode),
        limit=cursor + (limit or _DEFAULT_LIMIT),
        scope=(resolved_path(path),) if path else (),
        kinds=tuple(kinds or ()),
        globs=tuple(globs or ()),
        modified_since=since(modified),
    )
    view = View.FILES if files else View.FULL if full else View.EXCERPTS
    app = _existing_app(config, data_dir, output)
    result = app.searcher.search(request)
    _show(app, result, output, view=view, explain=explain, first=cursor)
    is_found = len(result.hits) > cursor and (limit is not None or not result.is_weak)
    raise typer.Exit(ExitCode.DONE if is_found else ExitCode.INCOMPLETE)


@cli.command()
def similar(
    *,
    file: Annotated[Path, typer.Argument(parser=given_path, help="File to compare with; it need not be indexed.")],
    path: Annotated[Path | None, typer.Argument(parser=given_path, help="Directory to search in.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many files.")] = _DEFAULT_LIMIT,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Find files like this one."""
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    app = _existing_app(config, data_dir, output)
    within = (resolved_path(path),) if path else ()
    result = app.similar_files.find(resolved_path(file), within=within, limit=limit)
    _show(app, result, output, view=View.FILES, explain=False, first=0)
    raise typer.Exit(ExitCode.DONE if result.hits else ExitCode.INCOMPLETE)


@cli.command()
def get(
    *,
    file: Annotated[Path, typer.Argument(parser=given_path, help="An indexed file.")],
    chunks: Annotated[str | None, typer.Option("--chunks", metavar="N-M", help="Only these chunks.")] = None,
    lines: Annotated[str | None, typer.Option("--lines", metavar="N-M", help="Only these lines.")] = None,
    pages: Annotated[str | None, typer.Option("--pages", metavar="N-M", help="Only these pages.")] = None,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Print the indexed text of a file, or a part of it."""
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    selection = _selection(chunks=chunks, lines=lines, pages=pages)
    app = _existing_app(config, data_dir, output)
    with app.docstore.snapshot() as snapshot:
        text = read_text(snapshot, resolved_path(file), selection)
    if as_json:
        output.data(json_pages.get_json(text))
    else:
        output.data(answers.get_text(text, for_terminal=output.is_terminal))
        output.notes(answers.get_notes(text, paths=output.paths))


@cli.command()
def status(
    *,
    path: Annotated[
        Path | None, typer.Argument(parser=given_path, help="Only the directory that this lies in.")
    ] = None,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Show what is indexed, by words and by meaning, and what was left out and why."""
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    app = _existing_app(config, data_dir, output)
    report = app.status.report(resolved_path(path) if path else None)
    if as_json:
        output.data(json_pages.status_json(report, verbose=verbose))
    else:
        output.lines(reports.status_lines(report, now=time.time(), paths=output.paths, verbose=verbose))


@cli.command()
def forget(
    *,
    path: Annotated[Path, typer.Argument(parser=given_path, help="A tracked directory.")],
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Stop tracking a directory, and remove what was indexed for it; its files stay as they are."""
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    app = _existing_app(config, data_dir, output)
    with output.progress() as listener:
        n_files = app.indexer.forget(os.fspath(path), listener=listener)
    left_behind = app.docstore.left_behind()
    log = app.loaded.data_dir / "dirindex.log"
    try:
        log.unlink(missing_ok=True)
    except OSError as error:
        left_behind.append(f"'{log}' cannot be removed, and may name its files: {error.strerror}")
    if as_json:
        output.data(json.dumps({"path": os.path.realpath(path), "files": n_files}))
    else:
        output.notes([f"{path} is no longer tracked; {n_files:,} files removed from the index"])
    output.notes(left_behind)


@cli.command()
def migrate(
    *,
    to_server: Annotated[
        str | None, typer.Option("--to-server", metavar="URL", help="Copy them to the Qdrant server at URL.")
    ] = None,
    to_embedded: Annotated[
        bool, typer.Option("--to-embedded", help="Copy them from the configured server back to this machine.")
    ] = False,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Copy the vectors to a Qdrant server or back, without embedding anything again.

    What was interrupted goes on when it is run again. The index answers from where its vectors were until the
    configuration names the other place.
    """
    if bool(to_server) == to_embedded:
        raise UsageError("say where to: --to-server URL or --to-embedded")
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    app = _existing_app(config, data_dir, output)
    switch = StopSwitch(max_seconds=None)
    with output.progress() as listener:
        report = app.migration(to_server=to_server).run(listener=listener, stop_reason=switch.reason)
    if as_json:
        output.data(json_pages.migration_json(report, endpoint=to_server))
    else:
        output.notes([plain(reports.migration_lines(report)).rstrip()])
    if report.outcome is not Outcome.COMPLETED:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if not as_json:
        output.notes(["put this into the configuration, and the index answers from there:"])
        output.data(json_pages.endpoint_json(to_server))


@cli.command()
def doctor(
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Check configuration, embedding, both stores and whether they agree."""
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    app = _existing_app(config, data_dir, output) if repair else _app(config, data_dir, output)
    try:
        findings = list(app.doctor.repair() if repair else app.doctor.check())
    except StoreError as error:
        if "dirindex doctor" in (error.hint or ""):  # it would lead back to here
            where = app.loaded.config.storage.sqlite_path.parent
            error.hint = f"move '{where}' away, and dirindex index PATH builds a new index"
        raise
    if as_json:
        output.data(json_pages.doctor_json(findings))
    else:
        output.lines(reports.doctor_lines(findings))
    raise typer.Exit(ExitCode.UNAVAILABLE if any(one.verdict is Verdict.PROBLEM for one in findings) else ExitCode.DONE)


@cli.command()
def serve(
    *,
    directories: Annotated[
        list[Path] | None,
        typer.Argument(parser=given_path, help="Directories that clients may have indexed, beside the tracked ones."),
    ] = None,
    http: Annotated[
        str | None, typer.Option("--http", metavar="HOST:PORT", help="Serve streamable HTTP here, not standard input.")
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file", metavar="FILE", parser=given_path, help="Bearer token that HTTP clients must give."
        ),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let every user of this machine read the index over HTTP.")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", metavar="NAME", help="Name that HTTP clients may call it by.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Keep the tracked directories fresh meanwhile.")] = False,
    print_config: Annotated[
        str | None,
        typer.Option("--print-config", metavar="CLIENT", help="Print what goes into the configuration of a client."),
    ] = None,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no notes.")] = False,
    verbose: Verbose = False,
) -> None:
    """Serve the index to assistants over MCP, on standard input and output or over HTTP."""
    output = Output(quiet=quiet, verbose=verbose, as_json=False)
    allowed = tuple(resolved_path(one) for one in directories or ())
    access = None if http is None else _access(http, allow_host or (), token_file, needs_token=not no_token)
    if print_config is not None:
        _print_config(print_config, allowed, access, output, watch=watch, config=config, data_dir=data_dir)
        return
    app = _app(config, data_dir, output)
    watches = watch or app.loaded.config.monitoring.file_watching
    configured = (resolved_path(one) for one in app.loaded.config.serving.directories)
    options = ServeOptions(tuple(dict.fromkeys([*allowed, *configured])), watch=watches, verbose=verbose)
    if access is None:
        serve_stdio(app, options)
    serve_http(app, options, access)


def _access(http: str, allow_host: Sequence[str], token_file: Path | None, *, needs_token: bool) -> Access:
    address = parse_address(http)
    return Access(address, names_of(allow_host, address), read_token(token_file, os.environ), needs_token)


def _print_config(
    name: str,
    allowed: Sequence[FilePath],
    access: Access | None,
    output: Output,
    *,
    watch: bool,
    config: Path | None,
    data_dir: Path | None,
) -> None:
    client = client_named(name)
    arguments = ["serve", *map(exact_text, allowed), *(["--watch"] if watch else [])]
    # The client will not have the environment of this shell.
    given = (("--config", config, "DIRINDEX_CONFIG"), ("--data-dir", data_dir, "DIRINDEX_DATA_DIR"))
    for option, path, variable in given:
        named = path or os.environ.get(variable)
        arguments += [option, os.path.abspath(os.path.expanduser(named))] if named else []
    url = f"http://{access.address.host_in_url}:{access.address.port}/mcp" if access else ""
    has_token = access is not None and access.needs_token
    output.data(snippet(client, launch_of(arguments, url=url, has_token=has_token)))
    output.notes([f"this goes into {place(client)}"])
    output.notes(["put the token in the place of TOKEN"] if has_token else [])


@config_cli.callback(invoke_without_command=True)
def show_config(
    *,
    context: typer.Context,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Show every value of the configuration and where it comes from."""
    if context.invoked_subcommand:
        return
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    loaded = load_config(file=config, data_dir=data_dir, environ=os.environ)
    if as_json:
        output.data(json_pages.config_json(loaded))
    else:
        output.lines(reports.config_lines(loaded))
    output.notes(loaded.warnings)


@config_cli.command("init")
def init_config(
    *,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no notes.")] = False,
) -> None:
    """Write a configuration file in which every key is explained."""
    path = config_location(file=config, data_dir=data_dir, environ=os.environ).value
    write_example(path)
    Output(quiet=quiet, verbose=False, as_json=False).notes([f"{path} written; every line of it is a comment"])


def _existing_app(config: Path | None, data_dir: Path | None, output: Output) -> App:
    """Open an index for a command that must not make one."""
    app = _app(config, data_dir, output)
    app.require_index()
    return app


def _app(config: Path | None, data_dir: Path | None, output: Output) -> App:
    loaded = load_config(file=config, data_dir=data_dir, environ=os.environ)
    output.notes(loaded.warnings)
    return App(loaded)


def _run(app: App, paths: list[str], options: IndexOptions, switch: StopSwitch, output: Output) -> IndexReport:
    try:
        with output.progress() as listener:
            return app.indexer.index(paths, options=options, listener=listener, stop_reason=switch.reason)
    except ConsentNeededError as error:
        can_answer = sys.stdin.isatty() and sys.stderr.isatty() and not output.as_json
        if not can_answer or not typer.confirm(f"{error.message}. Do it?", err=True):
            raise
    consenting = options._replace(has_consent=True)
    with output.progress() as listener:
        return app.indexer.index(paths, options=consenting, listener=listener, stop_reason=switch.reason)


def _watch(app: App, paths: list[str], switch: StopSwitch, output: Output) -> None:
    def update(touched: Sequence[FilePath]) -> None:
        try:
            report = app.indexer.index(
                [exact_text(root) for root in touched],
                options=IndexOptions(tracked_only=True, is_exact=True),
                listener=lambda _: None,
                stop_reason=switch.reason,
            )
        except DirIndexError as error:  # the next change, or the next look at everything, tries again
            output.error(error)
            return
        if report.n_removed or report.n_seen > report.n_unchanged + report.n_skipped:
            output.notes([plain(reports.index_lines(report, paths=output.paths)).rstrip()])

    roots = app.indexer.tracked(paths)
    output.notes([f"watching {', '.join(map(display, roots))}; ^C ends it"])
    own = os.path.realpath(app.loaded.data_dir)
    watcher.watch(roots, update, directories=app.indexer.directories, stop_reason=switch.reason, except_below=own)


def _tell_failures(report: IndexReport) -> None:
    """Say on standard error why a quiet run does not end with 0."""
    for failure in report.failures[:_FAILURES_TOLD]:
        sys.stderr.write(f"dirindex: {printable(display(failure.path))}: {printable(failure.message)}\n")
    if len(report.failures) > _FAILURES_TOLD:
        sys.stderr.write(f"  and {len(report.failures) - _FAILURES_TOLD} more, as dirindex status shows\n")
    if report.unavailable:
        sys.stderr.write(f"dirindex: {printable(report.unavailable)}\n")


def _show(app: App, result: SearchResult, output: Output, *, view: View, explain: bool, first: int) -> None:
    shown = result._replace(hits=result.hits[first:])
    if output.as_json:
        page = json_pages.search_json(
            result, index=app.status.checked(result.summary), first=first, full=view is View.FULL, explain=explain
        )
        output.data(page)
        return
    # First of all how far to trust what follows.
    output.notes(answers.search_notes(shown))
    if output.is_terminal:
        output.lines(answers.search_lines(shown, paths=output.paths, view=view, explain=explain))
    else:
        output.data(answers.search_rows(shown, view=view, explain=explain))


def _selection(*, chunks: str | None, lines: str | None, pages: str | None) -> Selection | None:
    units = ((Unit.CHUNKS, chunks), (Unit.LINES, lines), (Unit.PAGES, pages))
    given = [(unit, text) for unit, text in units if text is not None]
    if not given:
        return None
    if len(given) > 1:
        raise UsageError("give one of --chunks, --lines and --pages, not several")
    unit, text = given[0]
    return Selection(unit, *first_and_last(text, f"--{unit}"))
