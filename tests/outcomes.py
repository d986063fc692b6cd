"""Result of reading one file and its members in a run, without an index."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from directory_indexer.chunking import ChunkPolicy
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, source_file_of_status
from directory_indexer.core.paths import file_path
from directory_indexer.embedding.wordpiece import count_tokens
from directory_indexer.parsing.outcomes import MemberOutcomes, ParsedFile, ParseRequest
from directory_indexer.parsing.parse import parse_all
from directory_indexer.parsing.policy import ParsePolicy

if TYPE_CHECKING:
    from pathlib import Path

    from directory_indexer.parsing.tasks import Limits


class Outcomes(NamedTuple):
    """The texts, the messages of failures and the reasons of skips, each by what stands behind the path of the file."""

    texts: dict[str, str]
    failures: dict[str, str]
    skipped: dict[str, SkipReason]


def outcomes_of(path: Path, limits: Limits | None = None) -> Outcomes:
    """Parse a file in a worker process, within its limits."""
    path = path.absolute()
    policy = ParsePolicy(
        max_file_size=10_000_000,
        include_secrets=False,
        chunking=ChunkPolicy(size=256, overlap=0),
        count_tokens=count_tokens,
        limits=limits,
        is_wary=True,
    )
    results = list(parse_all([ParseRequest(source_file_of_status(file_path(path), path.stat()), None)], policy))
    members = (outcome for result in results if isinstance(result, MemberOutcomes) for _, outcome in result.outcomes)
    outcomes = Outcomes({}, {}, {})
    for result in chain(members, (result for result in results if not isinstance(result, MemberOutcomes))):
        match result:
            case ParsedFile():
                outcomes.texts[result.source.path.removeprefix(str(path))] = "\n".join(
                    chunk.text for chunk in result.chunks
                )
            case FileFailure():
                outcomes.failures[result.path.removeprefix(str(path))] = result.message
            case SkippedFile():
                outcomes.skipped[result.path.removeprefix(str(path))] = result.reason
    return outcomes
