"""Records of exports, migrations, checks, settings and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from directory_indexer.findings import Finding, Verdict
from directory_indexer.lazy import lazily
from directory_indexer.wire.fields import Outcomes, Seconds

with lazily:
    from directory_indexer.config import LoadedConfig
    from directory_indexer.errors import DirIndexError
    from directory_indexer.exporting.exporter import ExportReport
    from directory_indexer.indexing.report import MigrationReport


class ExportAnswer(NamedTuple):
    """The outcome of an export."""

    state: Annotated[str, "completed or interrupted; after the latter nothing was written."]
    seconds: Seconds
    file: Annotated[str | None, "What was written; [export.md](export.md) describes what is in it."]
    format: Annotated[str, "How it is written, as `--format` names it."]
    files: Annotated[int, "Files that it holds."]
    chunks: Annotated[int, "Passages that it holds."]
    bytes: Annotated[int, "Its size."]


class MigrationAnswer(NamedTuple):
    """The outcome of copying vectors."""

    state: Outcomes
    seconds: Seconds
    vectors: Annotated[int, "How many there are."]
    copied: Annotated[int, "How many were copied; fewer when an earlier copy was interrupted."]
    compared_hits: Annotated[int, "Hits of sample queries that were compared."]
    same_hits: Annotated[int, "How many of these are as near as before."]
    configuration: Annotated[
        Mapping[str, Any], "What makes the index answer from there; `endpoint` is null for the embedded engine."
    ]


class ForgetAnswer(NamedTuple):
    """The outcome of forgetting a directory."""

    path: Annotated[str, "The directory that is no longer tracked."]
    files: Annotated[int, "Files that were removed from the index."]


class Check(NamedTuple):
    """One thing that was checked."""

    check: Annotated[str, "What was checked."]
    verdict: Annotated[str, "ok, warning, problem or repaired."]
    message: Annotated[str, "What was found."]
    hint: Annotated[str | None, "What to do."]


class DoctorAnswer(NamedTuple):
    """The consistency of an index."""

    healthy: Annotated[bool, "True when no finding is a problem."]
    findings: Annotated[tuple[Check, ...], "What was found, check by check."]


class SettingValue(NamedTuple):
    """One setting."""

    value: Annotated[Any, "Its value; keys of services are asterisks."]
    source: Annotated[str, "option, environment, file or default."]
    origin: Annotated[str | None, "Name of the option, variable or file."]


class ConfigAnswer(NamedTuple):
    """The configuration."""

    file: Annotated[str | None, "The configuration file that was read."]
    settings: Annotated[
        Mapping[str, SettingValue], "Every setting by its key, with `config_file` and `data_dir` first."
    ]
    warnings: Annotated[tuple[str, ...], "What has no effect, or is risky."]


class ErrorAnswer(NamedTuple):
    """The output of a command that fails."""

    error: Annotated[str, "What happened."]
    hint: Annotated[str | None, "What to do."]
    exit_code: Annotated[int, "One of those that docs/guide/scripts-and-cron.md lists."]


def export_answer(report: ExportReport) -> ExportAnswer:
    """Return the record of an export."""
    seconds = round(report.seconds, 3)
    counts = (report.n_files, report.n_chunks, report.n_bytes)
    return ExportAnswer(report.outcome, seconds, report.file, report.format.name, *counts)


def migration_answer(report: MigrationReport, *, endpoint: str | None) -> MigrationAnswer:
    """Return the record of a migration, with the configuration that uses the copied vectors."""
    return MigrationAnswer(
        state=report.outcome,
        seconds=round(report.seconds, 3),
        vectors=report.n_vectors,
        copied=report.n_copied,
        compared_hits=report.n_compared_hits,
        same_hits=report.n_same_hits,
        configuration=endpoint_setting(endpoint),
    )


def endpoint_setting(endpoint: str | None) -> Mapping[str, Any]:
    """Return the part of the configuration that sets the vector store endpoint."""
    return {"storage": {"qdrant": {"endpoint": endpoint}}}


def doctor_answer(findings: Sequence[Finding]) -> DoctorAnswer:
    """Return the record of the findings of a check."""
    checks = tuple(Check(finding.check, finding.verdict, finding.message, finding.hint or None) for finding in findings)
    return DoctorAnswer(all(finding.verdict != Verdict.PROBLEM for finding in findings), checks)


def config_answer(loaded: LoadedConfig) -> ConfigAnswer:
    """Return the record of every setting with its origin."""
    settings = {entry.key: SettingValue(entry.value, entry.source, entry.origin or None) for entry in loaded.settings}
    return ConfigAnswer(None if loaded.file is None else str(loaded.file), settings, tuple(loaded.warnings))


def error_answer(error: DirIndexError) -> ErrorAnswer:
    """Return the record of an error that ends a command."""
    return ErrorAnswer(error.message, error.hint or None, int(error.exit_code))
