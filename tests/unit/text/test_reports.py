from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from directory_indexer.cli.output import Output
from directory_indexer.core.errors import ConfigError
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, Stage
from directory_indexer.core.ids import ContentHash, content_hash
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.report import IndexReport
from directory_indexer.indexing.status import StatusReport
from directory_indexer.storage.documents.runs import Outcome, PausedRun
from directory_indexer.storage.documents.statistics import FileCounts
from directory_indexer.text.formatting import PathStyle, plain
from directory_indexer.text.index_reports import index_lines, plan_lines, status_lines, summary_lines
from directory_indexer.text.reports import config_lines, doctor_lines
from directory_indexer.text.terminal import styled

if TYPE_CHECKING:
    from directory_indexer.config import LoadedConfig
    from directory_indexer.core.notes import Finding
    from directory_indexer.indexing.planner import Plan
    from directory_indexer.indexing.report import WorkEstimate

AT_HOME = PathStyle("", "/home/ann")
MANY = tuple(FileFailure(file_path(f"/home/ann/{n}"), Stage.READ, "vanished") for n in range(30))
pytestmark = pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")


def test_the_summary_of_a_run_adds_up(index_report: IndexReport) -> None:
    assert plain(index_lines(index_report, paths=AT_HOME)).splitlines() == [
        "done in 1 min 12 s, 118 MiB read",
        "indexed    1,196 files + 5 skipped + 1 failed",
        "changes    12 added, 3 changed, 1 moved, 2 removed",
        "ignored    14 by rules",
        "passages   420 written",
        "by meaning 300 new, 100 known before, 20 waiting",
        "skipped    3 binary, 2 too large",
        "missing    /mnt/usb",
        "failed     1, tried again by the next run",
        "           ~/notes/scan.pdf  extract: page 3 cannot be read",
    ]


@pytest.mark.parametrize(
    ("hashes", "told"),
    [
        ((None, None), "failed     2, tried again by the next run"),
        ((content_hash(b"a"), content_hash(b"b")), "failed     2, tried again when they change"),
        ((None, content_hash(b"b")), "failed     2, tried again by the next run, or when they change"),
    ],
)
def test_a_run_says_when_it_tries_again(hashes: tuple[ContentHash | None, ...], told: str) -> None:
    failures = tuple(failure._replace(hash=one) for failure, one in zip(MANY, hashes, strict=False))
    report = IndexReport(Outcome.COMPLETED, 0.2, failures=failures)
    assert told in plain(index_lines(report, paths=AT_HOME)).splitlines()


def test_a_run_without_anything_to_do_says_so() -> None:
    report = IndexReport(Outcome.COMPLETED, 0.2, FileCounts(4), n_unchanged=4)
    assert plain(index_lines(report, paths=AT_HOME)).splitlines()[1:] == [
        "indexed    4 files",
        "changes    none",
        "ignored    0 by rules",
        "passages   0 written",
        "by meaning none",
    ]


def test_on_a_terminal_a_run_without_anything_to_do_is_one_line() -> None:
    report = IndexReport(Outcome.COMPLETED, 0.1, FileCounts(77, n_skipped=3), n_unchanged=77)
    assert plain(summary_lines(report, paths=AT_HOME, embeds=True)) == "up to date: 77 files + 3 skipped (0.1 s)\n"


def test_on_a_terminal_what_failed_before_is_named_below_that_line() -> None:
    report = IndexReport(Outcome.COMPLETED, 0.1, FileCounts(1, n_failed=1), n_unchanged=1, failures=MANY[:1])
    assert plain(summary_lines(report, paths=AT_HOME, embeds=True)).splitlines() == [
        "up to date: 1 file + 1 failed (0.1 s)",
        "failed     1, tried again by the next run",
        "           ~/0  read: vanished",
    ]


def test_on_a_terminal_a_run_ends_with_what_to_type_next() -> None:
    report = IndexReport(Outcome.COMPLETED, 23, FileCounts(32), n_added=32, n_chunks=71, n_embedded=71)
    assert plain(summary_lines(report, paths=AT_HOME, embeds=True)).splitlines() == [
        "done in 23 s: searchable by words and by meaning",
        "indexed    32 files",
        "changes    32 added",
        'next       dirindex search "…"',
    ]
    assert "by meaning" not in plain(summary_lines(report, paths=AT_HOME, embeds=False))


def test_on_a_terminal_a_run_that_was_stopped_promises_nothing() -> None:
    report = IndexReport(Outcome.INTERRUPTED, 23, n_added=32, n_pending=40)
    lines = plain(summary_lines(report, paths=AT_HOME, embeds=True)).splitlines()
    assert lines[0] == "stopped after 23 s; run it again to go on from here"
    assert "waiting    40 passages are not searchable by meaning yet" in lines


@pytest.mark.parametrize("outcome", [Outcome.INTERRUPTED, Outcome.OUT_OF_TIME])
def test_a_run_that_stopped_early_says_that_the_next_one_goes_on(outcome: Outcome) -> None:
    first = plain(index_lines(IndexReport(outcome, 60), paths=AT_HOME)).splitlines()[0]
    assert first.endswith(" after 1 min 0 s, 0 B read; run it again to go on from here")


def test_of_many_failures_a_few_are_named_and_the_rest_counted(index_report: IndexReport) -> None:
    report = index_report._replace(failures=MANY)
    assert plain(index_lines(report, paths=AT_HOME)).endswith(
        "~/4  read: vanished\n" + " " * 11 + "and 25 more; --verbose names more of them\n"
    )
    assert plain(index_lines(report, paths=AT_HOME, verbose=True)).endswith("~/29  read: vanished\n")


def test_the_status_shows_coverage_skips_failures_sizes_and_runs(status_report: StatusReport, now: float) -> None:
    running = "running    improving search by meaning"
    assert plain(status_lines(status_report, now=now, paths=AT_HOME)).splitlines() == [
        "words  meaning                         files     size        indexed  directory",
        " 99 %     21 %  1,200 + 5 skipped + 1 failed  8.6 MiB  5 minutes ago  ~/notes",
        "    -        -                             0      0 B          never  /mnt/usb  not available",
        "",
        "skipped    3 binary, 2 too large",
        "waiting    4,400 passages are searchable by meaning only approximately so far: 882,000 tokens, about 49 s",
        "failed     1, tried again by the next run",
        "           ~/notes/scan.pdf  extract: page 3 cannot be read",
        "model      all-MiniLM-L6-v2 (embedded, 384 dimensions)",
        "on disk    32 MiB in the database, 11 MiB for search by meaning",
        f"{running}, 1,200 of 5,600 passages (21 %), started 2 minutes ago (process 4242 on box)",
        "last run   out of time 2 hours ago; run it again to go on from here",
    ]


def test_the_table_of_directories_fits_a_terminal(status_report: StatusReport, now: float) -> None:
    deep = status_report.directories[0]._replace(path=file_path("/home/ann/papers/customers/2026/letters"))
    report = status_report._replace(directories=(deep,))
    text = styled(status_lines(report, now=now, paths=AT_HOME), width=80, environ={})
    _, row, *_ = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    assert row.endswith("5 minutes ago  ~…/letters")
    assert len(row) <= 80


def test_words_and_meaning_are_shares_of_the_same_files(status_report: StatusReport, now: float) -> None:
    some = status_report.directories[0]
    complete, failed = some._replace(n_files=49, n_embedded=5600), some._replace(n_files=49, n_embedded=0)
    shown = plain(status_lines(status_report._replace(directories=(complete, failed)), now=now, paths=AT_HOME))
    assert [row.split()[:4] for row in shown.splitlines()[1:3]] == [["98", "%", "98", "%"], ["98", "%", "0", "%"]]


def test_what_is_told_of_one_directory_says_what_is_of_all(status_report: StatusReport, now: float) -> None:
    shown = plain(status_lines(status_report._replace(is_whole=False), now=now, paths=AT_HOME))
    assert "32 MiB in the database, 11 MiB for search by meaning, for all directories" in shown


def test_a_paused_run_over_the_whole_index_says_so(status_report: StatusReport, now: float) -> None:
    paused = (PausedRun(3, (), "{}", now - 60),)
    shown = plain(status_lines(status_report._replace(paused=paused), now=now, paths=AT_HOME))
    assert "run-3 over all directories; dirindex index --resume goes on with it" in shown


def test_a_run_without_a_sign_of_life_is_told(status_report: StatusReport, now: float) -> None:
    assert "no sign of life for 5 min 0 s" in plain(status_lines(status_report, now=now + 299, paths=AT_HOME))


def test_a_run_that_goes_on_is_not_also_the_last_one(status_report: StatusReport, now: float) -> None:
    shown = plain(status_lines(status_report._replace(last_run=status_report.running), now=now, paths=AT_HOME))
    assert "running    " in shown
    assert "last run" not in shown


def test_an_empty_index_says_how_to_begin(status_report: StatusReport, now: float) -> None:
    empty = status_report._replace(directories=(), failures=(), space=None, running=None, last_run=None)
    assert plain(status_lines(empty, now=now, paths=AT_HOME)).splitlines()[0] == (
        "no directory is indexed; add one: dirindex index PATH"
    )


def test_a_plan_adds_up_and_names_what_would_change(plans: list[Plan], estimate: WorkEstimate) -> None:
    assert plain(plan_lines(plans, estimate, paths=AT_HOME)).splitlines() == [
        "~/notes",
        "seen       9 files + 3 skipped + 1 failed",
        "changes    1 new, 1 changed, 1 removed",
        "to read    2 files, 3.0 KiB",
        "ignored    1 by rules",
        "add        ~/notes/new.md",
        "update     ~/notes/changed.md",
        "remove     ~/notes/old.md",
        "fail       ~/notes/scan.pdf  page 3 cannot be read",
        "by meaning about 768 tokens to read with ollama/nomic-embed-text with 'search_document: '",
        "no file was read, and the index is as it was",
    ]


def test_a_plan_tells_what_it_knows_of_scanned_pages(plans: list[Plan], estimate: WorkEstimate) -> None:
    known = estimate._replace(n_pages=12, pages_cost="gemini counts 12 pages", n_possible_scans=3)
    shown = plain(plan_lines(plans, known, paths=AT_HOME)).splitlines()
    assert [one for one in shown if one.startswith("OCR")] == [
        "OCR        12 pages waiting; gemini counts 12 pages",
        "OCR        scanned pages of 3 PDFs and pictures to read are not known yet",
    ]


def test_each_scanned_page_of_a_run_is_counted_once(index_report: IndexReport) -> None:
    report = index_report._replace(n_pages=9, n_pages_waiting=7, n_pages_unreadable=1)
    shown = plain(index_lines(report, paths=AT_HOME)).splitlines()
    assert "OCR        17 pages: 9 read, 7 waiting, 1 unreadable" in shown


def test_a_verbose_plan_names_the_rule_that_leaves_a_file_out(plans: list[Plan], estimate: WorkEstimate) -> None:
    shown = plain(plan_lines(plans, estimate, paths=AT_HOME, verbose=True)).splitlines()
    assert "skip       ~/notes/photo.jpg  binary" in shown
    assert "ignore     ~/notes/.git  .git (ignore_patterns)" in shown


def test_a_check_up_says_what_is_wrong_in_words_and_what_to_do(findings: tuple[Finding, ...]) -> None:
    assert plain(doctor_lines(findings)).splitlines() == [
        "ok         configuration: every key has its default",
        "problem    Qdrant: passages that it lacks: 12",
        "           dirindex doctor --repair",
    ]


def test_the_configuration_shows_origins_and_hides_keys(loaded: LoadedConfig) -> None:
    shown = plain(config_lines(loaded)).splitlines()
    assert len(shown) == len(loaded.settings)
    assert shown[0].split() == ["config_file", "default,", "does", "not", "exist", "/home/ann/index/config.json"]
    assert shown[1].split() == ["data_dir", "option", "--data-dir", "/home/ann/index"]
    assert ["embedding.api_key", "environment", "DIRINDEX_EMBEDDING__API_KEY", "**********"] in map(str.split, shown)
    assert ["indexing.respect_gitignore", "default", "true"] in map(str.split, shown)


def test_the_columns_of_the_configuration_line_up_whatever_is_in_them(loaded: LoadedConfig) -> None:
    shown = plain(config_lines(loaded)).splitlines()
    values = [row.index(value) for row in shown for value in ("/home/ann/index", "true", "**********") if value in row]
    assert len(values) > 3
    assert len(set(values)) == 1


def test_an_error_says_what_happened_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    error = ConfigError("the configuration has mistakes\n  a: \x1b[2J\n  b: wrong", hint="edit it")
    Output(quiet=True, verbose=False, as_json=False).error(error)
    assert capsys.readouterr().err == (
        "dirindex: the configuration has mistakes\n  a: \\x1b[2J\n  b: wrong\n  edit it\n"
    )


def test_skipped_files_are_named_on_request(status_report: StatusReport) -> None:
    skipped = (SkippedFile(file_path("/srv/\x1b[2J.env"), SkipReason.SECRET, "environment file"),)
    report = status_report._replace(skipped_files=skipped)
    assert "/srv/\\x1b[2J.env  secret, environment file" in plain(
        status_lines(report, now=0, paths=AT_HOME, verbose=True)
    )
    assert "environment file" not in plain(status_lines(report, now=0, paths=AT_HOME))


def test_skipped_files_stand_below_what_was_skipped(status_report: StatusReport) -> None:
    skipped = (SkippedFile(file_path("/srv/.env"), SkipReason.SECRET, "environment file"),)
    [directory, *others] = status_report.directories
    directories = (directory._replace(n_masked=2, skipped=((SkipReason.SECRET, 1),)), *others)
    report = status_report._replace(skipped_files=skipped, directories=directories)
    shown = plain(status_lines(report, now=0, paths=AT_HOME, verbose=True)).splitlines()
    [at] = [number for number, row in enumerate(shown) if "/srv/.env" in row]
    assert shown[at - 1].startswith("skipped")
    assert any(row.startswith("masked") for row in shown[at:])
