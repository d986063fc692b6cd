"""What becomes of files over which a worker was lost.

Source code that breaks its grammar is taken for plain text, so that nothing of it is lost. A container is gone on with
behind the member that broke the worker. Any other file that breaks a worker is a failure, which holds for as long as
its content is the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from directory_indexer.extractors.registry import extract_as_text
from directory_indexer.files import FileFailure, SkippedFile, Stage
from directory_indexer.parsing.one_file import blamed, format_of, parse_content, read_file
from directory_indexer.parsing.outcomes import MemberOutcomes, ParseOutcome, ParseRequest, Resumption
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.reading import FileContent
from directory_indexer.parsing.tasks import WorkerFailure
from directory_indexer.paths import FilePath

_LIGHT_BYTES = 1 << 18
_MOST_LOSSES = 20
"""A container over which more workers are lost is given up."""


class Losses:
    """The files of one job that are to be parsed in another way, and how far each container has come."""

    def __init__(self, policy: ParsePolicy) -> None:
        self._policy = policy
        self._texts: list[ParseRequest] = []
        self._resumed: list[ParseRequest] = []
        self._progress: dict[FilePath, MemberOutcomes] = {}

    def settle(
        self, request: ParseRequest, result: ParseOutcome | MemberOutcomes | WorkerFailure
    ) -> Iterator[ParseOutcome | MemberOutcomes]:
        """Return what a worker has found out, or else what is certain of the file without it."""
        path = request.source.path
        if isinstance(result, MemberOutcomes):
            yield self._progressed(path, result)
        elif not isinstance(result, WorkerFailure):
            self._progress.pop(path, None)
            yield result
        elif progress := self._progress.get(path):
            yield from self._resume(request, progress, result)
        else:
            yield from self._without_parser(request, result)

    def take_resumed(self) -> list[ParseRequest]:
        """Hand over the containers to go on with."""
        resumed, self._resumed = self._resumed, []
        return resumed

    def take_texts(self) -> list[ParseRequest]:
        """Hand over the files to take for plain text."""
        texts, self._texts = self._texts, []
        return texts

    def give_up(
        self, request: ParseRequest, result: ParseOutcome | MemberOutcomes | WorkerFailure
    ) -> Iterator[ParseOutcome]:
        """Return what a worker has found out in the other way, or a failure."""
        if isinstance(result, WorkerFailure):
            yield _failure(read_file(request, self._policy), request, result)
        elif not isinstance(result, MemberOutcomes):
            yield result

    def _progressed(self, path: FilePath, part: MemberOutcomes) -> MemberOutcomes:
        """Note how far a container has come; what a worker that took it up again does twice counts once."""
        before = self._progress.get(path)
        n_done = before.n_done if before else 0
        self._progress[path] = part._replace(n_done=max(n_done, part.n_done), outcomes=(), kept=())
        return part._replace(outcomes=tuple(outcome for outcome in part.outcomes if outcome[0] >= n_done))

    def _resume(self, request: ParseRequest, progress: MemberOutcomes, lost: WorkerFailure) -> Iterator[ParseOutcome]:
        before = request.resumption
        broken = before.broken if before else ()
        is_same = before is not None and any(number == progress.n_done for number, _ in broken)
        if not lost.is_proven or is_same or len(broken) == _MOST_LOSSES:
            self._progress.pop(request.source.path)
            failure = FileFailure(request.source.path, Stage.EXTRACT, lost.message)
            is_to_blame = lost.is_proven
            yield (
                failure._replace(source=progress.source, hash=progress.hash, seen_ns=progress.seen_ns)
                if is_to_blame
                else failure
            )
            return
        # The first time, it is only known among which members the culprit is.
        more = ((progress.n_done, lost.message),) if before else ()
        self._resumed.append(request._replace(resumption=Resumption(progress.n_done, (*broken, *more))))

    def _without_parser(self, request: ParseRequest, lost: WorkerFailure) -> Iterator[ParseOutcome]:
        found = read_file(request, self._policy)
        if not isinstance(found, FileContent):
            yield found
        elif not lost.is_proven or not format_of(found, self._policy).is_source_code:
            yield _failure(found, request, lost)
        elif self._policy.is_wary or found.source.size > _LIGHT_BYTES:
            self._texts.append(request)
        else:
            yield parse_content(found, request, as_text(self._policy))


def as_text(policy: ParsePolicy) -> ParsePolicy:
    """Have files taken for plain text."""
    return policy._replace(extract=extract_as_text)


def _failure(
    found: FileContent | SkippedFile | FileFailure, request: ParseRequest, lost: WorkerFailure
) -> ParseOutcome:
    if not isinstance(found, FileContent):
        return found
    failure = FileFailure(request.source.path, Stage.EXTRACT, lost.message)
    return blamed(failure, found) if lost.is_proven else failure
