"""Records of the tool calls of assistants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.usage.counting import Usage, Use, tokens_of


class UseEntry(NamedTuple):
    """Calls of tools of one kind."""

    kind: Annotated[str, "search (ranked), grep (exact), read, list, edit, shell, web, agent or other."]
    calls: Annotated[int, "How often tools of this kind were called."]
    dirindex: Annotated[int, "How many of the calls were of dirindex."]
    tokens: Annotated[int, "How much text they got, at three bytes a token."]
    tokens_per_call: Annotated[int, "The average of a call whose result is in the file."]
    most_tokens: Annotated[int, "The largest result."]
    without_result: Annotated[int, "Calls whose result is not in the file."]


class UnreadableFile(NamedTuple):
    """A file that was not counted."""

    path: Annotated[str, "The file."]
    reason: Annotated[str, "Why it was not counted."]


class UsageAnswer(NamedTuple):
    """The counts from transcripts."""

    sessions: Annotated[Mapping[str, int], "How many sessions of which assistant."]
    tools: Annotated[tuple[UseEntry, ...], "Calls by kind, the most frequent first."]
    unreadable: Annotated[tuple[UnreadableFile, ...], "Files that were not counted."]
    other_files: Annotated[int, "Files in the directories that are not transcripts."]
    passed_over: Annotated[int, "Lines of transcripts that are cut off, too long or not records."]


def usage_answer(usage: Usage) -> UsageAnswer:
    """Return the record of the counts."""
    uses = sorted(usage.uses.values(), key=lambda use: (-use.n_calls, use.kind))
    unreadable = (UnreadableFile(path, reason) for path, reason in sorted(usage.unreadable.items()))
    return UsageAnswer(
        usage.n_sessions, tuple(map(_use_entry, uses)), tuple(unreadable), usage.n_other, usage.n_passed_over
    )


def _use_entry(use: Use) -> UseEntry:
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
