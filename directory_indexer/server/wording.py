"""Text of index runs and of server information."""

from __future__ import annotations

from directory_indexer.docstore.runs import Phase
from directory_indexer.server.passages import one_line
from directory_indexer.wire.runs import RUNNING, Run
from directory_indexer.wire.server import ServerAnswer

_NOTHING_YET = "Nothing is indexed yet: call index, or ask the user to run `dirindex index DIRECTORY`."
_BEFORE_COUNTING = frozenset({Phase.STARTING, Phase.WALKING})


def run_text(run: Run) -> str:
    """Format the state of a run as self-contained text."""
    directories = ", ".join(map(one_line, run.directories))
    state = f"{run.state}, {run.phase}" if run.state == RUNNING else run.state
    lines = [f"Index run{f' {run.id}' if run.id else ''} of {directories}: {state}. {_format_progress(run)}".rstrip()]
    lines += ["It was started by somebody else and is joined."] if run.joined else []
    lines += [f"Message: {one_line(run.message)}"] if run.message else []
    return "\n".join([*lines, f"Next: {run.next_step}"])


def _format_progress(run: Run) -> str:
    if run.counts is not None:
        return (", ".join(f"{number} {name}" for name, number in run.counts.items() if number) or "nothing to do") + "."
    facts = [f"{run.files_done} of {run.files_total} files read"] if run.files_total else []
    facts += [f"{run.chunks_done} of {run.chunks_total} passages embedded"] if run.chunks_total else []
    if not facts and run.state == RUNNING:
        facts = ["files not counted yet" if run.phase in _BEFORE_COUNTING else "no files to read"]
    return ", ".join(facts) + "." if facts else ""


def info_text(info: ServerAnswer, *, may_index: bool) -> str:
    """Format server information as self-contained text."""
    lines = [f"dirindex {info.version}; embedding model {info.model.name}: {info.model.state}"]
    lines += [f"  {info.model.message}"] if info.model.message else []
    lines.append(f"{info.index.files} files, {info.index.chunks} passages, {info.index.embedded} of them by meaning")
    for directory in info.directories:
        indexed_at = directory.indexed_at
        state = f"indexed {indexed_at}" if indexed_at else "not all of its words are indexed yet"
        availability = "" if directory.available else "; it cannot be read now"
        lines.append(
            f"- {one_line(directory.path)}: {directory.files} files, {directory.chunks} passages, "
            f"{directory.skipped} skipped, {directory.failed} failed; {state}{availability}"
        )
    lines += [f"{info.left_out} more directories do not fit here"] if info.left_out else []
    lines += [f"collections: {', '.join(info.collections)}"] if info.collections else []
    if info.allowed:
        lines.append(f"index may add: {', '.join(map(one_line, info.allowed))}")
    if info.run is not None:
        lines.append(run_text(info.run))
    if not info.directories:
        lines.append(_NOTHING_YET if may_index else "Nothing is indexed yet, and another machine does that.")
    return "\n".join(lines)
