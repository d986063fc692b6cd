"""Records of administration: exports, migrations, checks, settings, API keys, installations and tool usage."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from directory_indexer.api import Outcomes, Seconds, format_timestamp
from directory_indexer.config.settings import KEYS
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Finding, Verdict

with lazily:
    from directory_indexer.config import LoadedConfig
    from directory_indexer.core.errors import DirIndexError
    from directory_indexer.indexing.report import MigrationReport
    from directory_indexer.integrations.assistants.planning import Failure, Plan, Step
    from directory_indexer.integrations.exporting.exporter import ExportReport
    from directory_indexer.integrations.usage import ToolUse, Usage, tokens_of
    from directory_indexer.storage.registry.keys import Key


class ExportAnswer(NamedTuple):
    """The outcome of an export."""

    state: Annotated[str, "completed or interrupted; if interrupted, nothing was written."]
    seconds: Seconds
    file: Annotated[str | None, "The file written; [export.md](export.md) describes its content."]
    format: Annotated[str, "Its format, as named by `--format`."]
    files: Annotated[int, "Files in it."]
    chunks: Annotated[int, "Passages in it."]
    bytes: Annotated[int, "Its size."]


class MigrationAnswer(NamedTuple):
    """The outcome of copying vectors."""

    state: Outcomes
    seconds: Seconds
    vectors: Annotated[int, "Their number."]
    copied: Annotated[int, "How many were copied; fewer if an earlier copy was interrupted."]
    compared_hits: Annotated[int, "Hits of sample queries that were compared."]
    same_hits: Annotated[int, "How many of these are unchanged."]
    configuration: Annotated[
        Mapping[str, Any], "The settings that use the copies; `endpoint` is null for the embedded engine."
    ]


class ForgetAnswer(NamedTuple):
    """The outcome of forgetting a directory."""

    path: Annotated[str, "The directory, which is no longer tracked."]
    files: Annotated[int, "Files removed from the index."]


class Check(NamedTuple):
    """The result of one check."""

    check: Annotated[str, "The subject of the check."]
    verdict: Annotated[str, "ok, warning, problem or repaired."]
    message: Annotated[str, "The finding."]
    hint: Annotated[str | None, "What to do."]


class DoctorAnswer(NamedTuple):
    """The consistency of an index."""

    healthy: Annotated[bool, "Whether no finding is a problem."]
    findings: Annotated[tuple[Check, ...], "The findings, check by check."]


class SettingValue(NamedTuple):
    """One setting."""

    value: Annotated[Any, "Its value; keys of services are masked."]
    source: Annotated[str, "option, environment, file or default."]
    origin: Annotated[str | None, "Name of the option, variable or file."]


class ConfigAnswer(NamedTuple):
    """The configuration."""

    file: Annotated[str | None, "The configuration file that was read."]
    settings: Annotated[
        Mapping[str, SettingValue], "Every setting by its key, with `config_file` and `data_dir` first."
    ]
    warnings: Annotated[tuple[str, ...], "Settings without effect, or with a risk."]


class ErrorAnswer(NamedTuple):
    """The output of a command that fails."""

    error: Annotated[str, "What happened."]
    hint: Annotated[str | None, "What to do."]
    exit_code: Annotated[int, "One of the codes in docs/guide/scripts-and-cron.md."]


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


class ExplainedSetting(NamedTuple):
    """One setting with its description."""

    key: Annotated[str, "Its key."]
    value: Annotated[Any, "Its value; keys of services are masked."]
    default: Annotated[Any, "Its default; null if it depends on other settings."]
    source: Annotated[str, "option, environment, file or default."]
    origin: Annotated[str | None, "Name of the option, variable or file."]
    words: Annotated[str, "Its description; empty if it is not a key of the configuration file."]


class SettingsAnswer(NamedTuple):
    """Every setting with its description."""

    file: Annotated[str | None, "The configuration file that was read."]
    settings: Annotated[tuple[ExplainedSetting, ...], "Every setting, with `config_file` and `data_dir` first."]
    warnings: Annotated[tuple[str, ...], "Settings without effect, or with a risk."]


def settings_answer(loaded: LoadedConfig) -> SettingsAnswer:
    """Return the record of every setting with its origin and description."""
    settings = tuple(
        ExplainedSetting(
            key=entry.key,
            value=entry.value,
            default=KEYS[entry.key].default if entry.key in KEYS else None,
            source=entry.source,
            origin=entry.origin or None,
            words=KEYS[entry.key].description if entry.key in KEYS else "",
        )
        for entry in loaded.settings
    )
    return SettingsAnswer(None if loaded.file is None else str(loaded.file), settings, tuple(loaded.warnings))


class KeyFacts(NamedTuple):
    """The facts of a key."""

    name: Annotated[str, "Its name."]
    right: Annotated[str, "read, write, admin or metrics."]
    collections: Annotated[tuple[str, ...] | None, "Collections it is valid for; null: all."]
    created_at: Annotated[str | None, "When it was created."]
    expires_at: Annotated[str | None, "When it expires; null: never."]
    expired: Annotated[bool, "Whether it has expired."]
    last_used_at: Annotated[str | None, "When it was last used, to about a minute; null: never."]
    key: Annotated[str | None, "The key itself, only when it is created."] = None


class KeyList(NamedTuple):
    """All keys."""

    keys: Annotated[tuple[KeyFacts, ...], "The keys, sorted by name."]


def key_facts(key: Key, *, secret: str | None = None) -> KeyFacts:
    """Return the record of a key."""
    return KeyFacts(
        name=key.name,
        right=key.right,
        collections=None if key.collections is None else tuple(sorted(key.collections)),
        created_at=format_timestamp(key.created_at),
        expires_at=format_timestamp(key.expires_at),
        expired=key.is_expired(time.time()),
        last_used_at=format_timestamp(key.last_used_at),
        key=secret,
    )


class PartEntry(NamedTuple):
    """A part of an assistant."""

    client: Annotated[str, "The assistant, as named by `install`."]
    part: Annotated[str, "mcp, skill, hooks or rules."]
    path: Annotated[str, "Its file."]
    action: Annotated[str, "add, update, already there, taken, refused, failed, remove, gone already or kept."]
    reason: Annotated[str | None, "The reason, where it is not obvious."]


class InstallAnswer(NamedTuple):
    """The outcome of an installation or removal."""

    dry_run: Annotated[bool, "Whether nothing was written."]
    parts: Annotated[tuple[PartEntry, ...], "Each part of each assistant."]
    files: Annotated[tuple[str, ...], "Files that were written or removed, or would be."]


def install_answer(plan: Plan, failures: Sequence[Failure], *, is_dry_run: bool) -> InstallAnswer:
    """Return the record of an installation or removal."""
    failed = {failure.path: failure.reason for failure in failures}
    files = [draft.file.target for draft in plan.drafts if draft.file.target not in failed]
    return InstallAnswer(is_dry_run, tuple(_part_entry(step, failed) for step in plan.steps), tuple(files))


class UseEntry(NamedTuple):
    """Tool calls of one kind."""

    kind: Annotated[str, "search (ranked), grep (exact), read, list, edit, shell, web, agent or other."]
    calls: Annotated[int, "Calls of tools of this kind."]
    dirindex: Annotated[int, "How many of these were calls of dirindex."]
    tokens: Annotated[int, "Size of their results, at three bytes per token."]
    tokens_per_call: Annotated[int, "Average of the calls whose result is in the file."]
    most_tokens: Annotated[int, "The largest result."]
    without_result: Annotated[int, "Calls whose result is not in the file."]


class UnreadableFile(NamedTuple):
    """A file that was not counted."""

    path: Annotated[str, "The file."]
    reason: Annotated[str, "Why it was not counted."]


class UsageAnswer(NamedTuple):
    """The counts from transcripts."""

    sessions: Annotated[Mapping[str, int], "Sessions by assistant."]
    tools: Annotated[tuple[UseEntry, ...], "Calls by kind, most frequent first."]
    unreadable: Annotated[tuple[UnreadableFile, ...], "Files that were not counted."]
    other_files: Annotated[int, "Files in the directories that are not transcripts."]
    passed_over: Annotated[int, "Transcript lines that are cut off, too long or no records."]


def usage_answer(usage: Usage) -> UsageAnswer:
    """Return the record of the counts."""
    uses = sorted(usage.uses.values(), key=lambda use: (-use.n_calls, use.kind))
    unreadable = (UnreadableFile(path, reason) for path, reason in sorted(usage.unreadable.items()))
    return UsageAnswer(
        usage.n_sessions, tuple(map(_use_entry, uses)), tuple(unreadable), usage.n_other, usage.n_passed_over
    )


def _part_entry(step: Step, failed: dict[str, str]) -> PartEntry:
    if reason := failed.get(os.path.realpath(step.path)):
        return PartEntry(step.client, step.part, step.path, "failed", reason)
    return PartEntry(step.client, step.part, step.path, step.action, step.reason or None)


def _use_entry(use: ToolUse) -> UseEntry:
    tokens = tokens_of(use.n_bytes)
    n_known = use.n_calls - use.n_unknown
    return UseEntry(
        kind=use.kind,
        calls=use.n_calls,
        dirindex=use.n_own,
        tokens=tokens,
        tokens_per_call=round(tokens / n_known) if n_known else 0,
        most_tokens=tokens_of(use.most_bytes),
        without_result=use.n_unknown,
    )
