"""`dirindex index`: bring the index up to date, once or whenever files change."""

import contextlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from directory_indexer.cli.commands import InCollection, OrdinaryCall, open_app, parse_path, parse_seconds
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.core.errors import ConsentNeededError, DirIndexError, ExitCode, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.machine import lower_priority
from directory_indexer.core.paths import FilePath, display, exact_text
from directory_indexer.storage.documents import WHOLE_INDEX, IndexScope
from directory_indexer.storage.documents.runs import Origin

with lazily:
    import tempfile

    from directory_indexer.api.status import PausedList, paused_of
    from directory_indexer.app import App
    from directory_indexer.cli.command_server import CommandServer
    from directory_indexer.cli.results import unseen_notes
    from directory_indexer.cli.signals import StopSwitch
    from directory_indexer.core import machine
    from directory_indexer.indexing import watch
    from directory_indexer.indexing.options import Effort, IndexOptions
    from directory_indexer.indexing.report import IndexReport
    from directory_indexer.storage.documents.store import DocStore
    from directory_indexer.telemetry.start import start_leniently
    from directory_indexer.text import index_reports, json_pages
    from directory_indexer.text.formatting import plain, printable

_MAX_REPORTED_FAILURES = 5
_POLL_SECONDS = 0.1


_Effort = Literal["full", "background", "none"]


class IndexCall(OrdinaryCall):
    """The command line of `index`."""

    paths: Annotated[
        tuple[Path, ...], Argument("Directories; default: all tracked ones.", parse=parse_path, metavar="[PATH]...")
    ] = ()
    force: Annotated[bool, Option(("--force",), "Read every file again, even if it has not changed.")] = False
    dry_run: Annotated[bool, Option(("--dry-run",), "Show what a run would do without doing it.")] = False
    watch: Annotated[bool, Option(("--watch",), "Keep running, and index what changes.")] = False
    wait: Annotated[bool, Option(("--wait/--no-wait",), "Wait for a running index job, or exit with 4.")] = True
    max_seconds: Annotated[
        float | None,
        Option(
            ("--max-seconds",),
            "Stop after this many seconds; the next run resumes.",
            parse=parse_seconds,
            metavar="SECONDS",
        ),
    ] = None
    max_ocr_pages: Annotated[
        int | None, Option(("--max-ocr-pages",), "Read at most this many scanned pages; the others wait.", minimum=0)
    ] = None
    no_ocr: Annotated[bool, Option(("--no-ocr",), "Read no scanned pages; they wait.")] = False
    pause: Annotated[
        bool, Option(("--pause",), "Pause the current run until --resume; nothing starts by itself meanwhile.")
    ] = False
    resume: Annotated[bool, Option(("--resume",), "Continue the paused run.")] = False
    yes: Annotated[bool, Option(("--yes", "-y"), "Do not ask for confirmation.")] = False
    accept_mounts: Annotated[
        bool,
        Option(("--accept-mounts",), "Accept the file systems that are mounted now; files that they lack are removed."),
    ] = False
    exact: Annotated[bool, Option(("--exact",), "The paths are resolved already.", is_hidden=True)] = False
    tracked_only: Annotated[
        bool, Option(("--tracked-only",), "Skip directories that are no longer tracked.", is_hidden=True)
    ] = False
    waiting_only: Annotated[
        bool, Option(("--waiting-only",), "Walk no directory; only complete unfinished work.", is_hidden=True)
    ] = False
    effort: Annotated[
        _Effort, Option(("--effort",), "How many waiting passages are made searchable by meaning.", is_hidden=True)
    ] = "full"
    unless_paused: Annotated[
        bool, Option(("--unless-paused",), "Do nothing while a run is paused.", is_hidden=True)
    ] = False
    from_server: Annotated[
        bool, Option(("--from-server",), "The run was started by a server for its clients.", is_hidden=True)
    ] = False
    collection: InCollection = ""


def index(call: IndexCall) -> ExitCode:
    """Index directories, or bring tracked ones up to date."""
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=call.as_json)
    directories = [os.fspath(path) for path in call.paths]
    if (call.pause or call.resume) and (
        directories or call.dry_run or call.watch or call.force or (call.pause and call.resume)
    ):
        raise UsageError(
            "--pause and --resume take neither directories nor --force", hint="leave out directories and --force"
        )
    if call.effort == "background":
        lower_priority()
    app = open_app(call.config, call.data_dir, output, call.collection)
    if call.pause:
        _pause_run(app, output, wait=call.wait)
        return ExitCode.DONE
    if call.dry_run:
        _show_plans(app, directories, output)
        return ExitCode.DONE
    embeds_in_background = call.watch and app.policies.embeds_in_background(is_watching=True)
    options = IndexOptions(
        read_everything=call.force,
        has_consent=call.yes or call.force,
        wait=call.wait,
        tracked_only=call.tracked_only,
        is_exact=call.exact,
        accepts_mounts=call.accept_mounts,
        unless_paused=call.unless_paused,
        origin=Origin.SERVER if call.from_server else Origin.TERMINAL,
        most_pages=0
        if call.no_ocr
        else app.loaded.config.ocr.max_pages_per_run
        if call.max_ocr_pages is None
        else call.max_ocr_pages,
        waiting_only=call.waiting_only,
        effort=Effort.NONE if embeds_in_background else Effort(call.effort),
    )
    if call.resume:
        directories, options = _resumed_work(app, options)
    start_leniently(app.loaded.config.telemetry, os.environ)
    switch = StopSwitch(max_seconds=call.max_seconds)
    report = _run_once(app, directories, options, switch, output)
    _show_report(app, report, output)
    if call.watch:
        with contextlib.ExitStack() as stack:
            if embeds_in_background:
                output.notes(["search by meaning improves in the background; dirindex status shows how far it is"])
                embedding = app.runs.embedding_process(_scope(app, directories))
                embedding.start()
                stack.callback(embedding.stop)
            _watch(app, directories, options, switch, output)
    return report.exit_code


def _show_plans(app: App, directories: list[str], output: Output) -> None:
    with tempfile.TemporaryDirectory() as scratch, contextlib.closing(app):
        if not app.loaded.config.storage.sqlite_path.exists():
            app.docstore = DocStore(Path(scratch) / "data.db")  # opening the index would create it
        plans = app.runs.indexer.plans(directories)
        estimate = app.runs.indexer.estimate_work(plans)
    if output.as_json:
        output.data(json_pages.plan_json(plans, estimate))
    else:
        output.lines(index_reports.plan_lines(plans, estimate, paths=output.paths, verbose=output.verbose))


def _show_report(app: App, report: IndexReport, output: Output) -> None:
    if output.as_json:
        output.data(json_pages.index_json(report))
    elif output.is_terminal and not (output.quiet or output.verbose):
        output.lines(index_reports.summary_lines(report, paths=output.paths, embeds=_embeds(app)))
        if advice := app.language_advice():
            output.notes(unseen_notes(app.loaded.data_dir, {advice.key: advice.text}), are_dim=True)
    elif not output.quiet:
        output.lines(index_reports.index_lines(report, paths=output.paths, verbose=output.verbose))
    else:
        _report_failures(report)


def _resumed_work(app: App, options: IndexOptions) -> tuple[list[str], IndexOptions]:
    """Return the directories and options of the paused run."""
    directories, paused_options = app.runs.control.resumed_work()
    consent = options.has_consent or paused_options.has_consent
    return list(map(exact_text, directories)), paused_options._replace(
        wait=options.wait, has_consent=consent, origin=options.origin
    )


def _pause_run(app: App, output: Output, *, wait: bool) -> None:
    """Pause the current runs, and wait until they have stopped, which takes one batch."""
    runs = app.runs.control.pause(by=Origin.TERMINAL)
    ids = {run.id for run in runs}
    while wait and any(run.id in ids for run in app.status.unfinished_runs()):
        time.sleep(_POLL_SECONDS)
    paused = app.runs.control.paused()
    if output.as_json:
        output.record(PausedList(tuple(map(paused_of, paused))))
    else:
        output.lines(index_reports.paused_lines(paused, runs, paths=output.paths))


def _run_once(app: App, paths: list[str], options: IndexOptions, switch: StopSwitch, output: Output) -> IndexReport:
    in_steps = options.effort is Effort.FULL and _embeds(app)
    try:
        with output.progress(in_steps=in_steps, must_stop=switch.must_stop) as listener:
            return app.runs.indexer.index(paths, options=options, listener=listener, stop_reason=switch.reason)
    except ConsentNeededError as error:
        if not output.confirm(error.message):
            raise
    consenting = options._replace(has_consent=True)
    with output.progress(in_steps=in_steps, must_stop=switch.must_stop) as listener:
        return app.runs.indexer.index(paths, options=consenting, listener=listener, stop_reason=switch.reason)


def _embeds(app: App) -> bool:
    return app.policies.index.embedding is EmbeddingMode.COMPLETE


def _scope(app: App, paths: list[str]) -> IndexScope:
    return IndexScope(tuple(app.runs.indexer.roots(paths))) if paths else WHOLE_INDEX


def _watch(app: App, paths: list[str], options: IndexOptions, switch: StopSwitch, output: Output) -> None:
    def update(touched: Sequence[FilePath]) -> None:
        try:
            report = app.runs.indexer.index(
                [exact_text(root) for root in touched],
                options=IndexOptions(
                    tracked_only=True,
                    is_exact=True,
                    unless_paused=True,
                    most_pages=options.most_pages,
                    effort=options.effort,
                ),
                listener=lambda _: None,
                stop_reason=switch.reason,
            )
        except DirIndexError as error:  # the next change or the next full scan tries again
            output.error(error)
            return
        if report.n_removed or report.n_seen > report.n_unchanged + report.n_skipped:
            output.notes([plain(index_reports.index_lines(report, paths=output.paths)).rstrip()])

    # Before this thread steps back, and with an index of its own to read.
    CommandServer(App(app.loaded)).start()
    lower_priority()  # the run that the user waited for is done
    roots = app.runs.indexer.roots(paths)
    output.notes([f"watching {', '.join(map(display, roots))}; ^C ends it"])
    own = os.path.realpath(app.loaded.data_dir)
    watch.Watch(
        roots=roots,
        update=update,
        directories=app.runs.indexer.directory_plans.directories,
        stop_reason=switch.reason,
        except_below=own,
        is_held=lambda: bool(app.runs.control.paused()),
        on_limit=lambda: output.notes([machine.WATCHES_MESSAGE, machine.WATCHES_HINT]),
        limit_path=machine.watch_limit_path(app.loaded.config.storage.sqlite_path),
    ).run()


def _report_failures(report: IndexReport) -> None:
    """Write to standard error why a quiet run does not exit with 0."""
    for failure in report.failures[:_MAX_REPORTED_FAILURES]:
        sys.stderr.write(f"dirindex: {printable(display(failure.path))}: {printable(failure.message)}\n")
    if len(report.failures) > _MAX_REPORTED_FAILURES:
        sys.stderr.write(f"  and {len(report.failures) - _MAX_REPORTED_FAILURES} more, as dirindex status shows\n")
    if report.unavailable:
        sys.stderr.write(f"dirindex: {printable(report.unavailable)}\n")


COMMANDS = {"index": Command(IndexCall, index)}
