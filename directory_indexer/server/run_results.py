"""State of index runs with the next step, for runs of this server and of other processes alike."""

from __future__ import annotations

from collections.abc import Mapping

from directory_indexer.docstore.runs import Outcome, RunRecord
from directory_indexer.paths import FilePath
from directory_indexer.wire.runs import QUEUED, RUNNING, Run, run_of

NEXT_STEPS = {
    QUEUED: "It waits for its turn. Call index again with the same path to wait on.",
    RUNNING: "Call index again with the same path to wait on; search already finds what is committed.",
    Outcome.COMPLETED: "Call search.",
    Outcome.INTERRUPTED: "What was indexed stays searchable; call index to go on where it stopped.",
    Outcome.PAUSED: 'What was indexed stays searchable; if it is to go on, call index with action="resume".',
    Outcome.OUT_OF_TIME: "What was indexed stays searchable; call index to go on where it stopped.",
    Outcome.FAILED: "Correct what the message says, then call index again.",
}
ENDED = frozenset(Outcome)


def result_of(
    record: RunRecord,
    *,
    joined: bool,
    was_killed: bool = False,
    counts: Mapping[str, int] | None = None,
    message: str = "",
) -> Run:
    """Return the state of a run with the next step."""
    run = run_of(record, goes_on=record.outcome is None and not was_killed)
    return run._replace(
        message=run.message or message or None,
        joined=joined or None,
        counts=counts,
        next_step=NEXT_STEPS[run.state],
    )


def percent(result: Run) -> float:
    """Estimate the progress of a run: half of it is reading, half embedding."""
    if result.state in ENDED:
        return 100.0
    read = result.files_done / result.files_total if result.files_total else 0.0
    embedded = result.chunks_done / result.chunks_total if result.chunks_total else 0.0
    return round(min(1 + 48 * read + 50 * embedded, 99.0), 2)


def covers(run: RunRecord, directory: FilePath) -> bool:
    """Whether a run includes a directory."""
    return directory in run.directories
