"""Handling of files whose worker process crashed or was stopped.

Source code that breaks its grammar is indexed as plain text, so that its text is not lost. A container is resumed after
the member that crashed the worker. Any other file is a failure, for as long as its content is the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from directory_indexer.core.files import FileFailure, SkippedFile, Stage
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.extraction import extract_as_text
from directory_indexer.parsing.one_file import format_of, parse_content, read_file, with_content_of
from directory_indexer.parsing.outcomes import MemberOutcomes, ParseOutcome, ParseRequest, Resumption
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.reading import FileContent
from directory_indexer.parsing.tasks import WorkerFailure

_LIGHT_BYTES = 1 << 18
_MAX_LOSSES = 20
"""Crashes after which a container is given up."""


class WorkerFailures:
    """The files of one job to be retried in another way, and the progress of each container."""

    def __init__(self, policy: ParsePolicy) -> None:
        self._policy = policy
        self._texts: list[ParseRequest] = []
        self._resumed: list[ParseRequest] = []
        self._progress: dict[FilePath, MemberOutcomes] = {}

    def settle(
        self, request: ParseRequest, result: ParseOutcome | MemberOutcomes | WorkerFailure
    ) -> Iterator[ParseOutcome | MemberOutcomes]:
        """Yield the result of a worker, or what is certain about the file without one."""
        path = request.source.path
        if isinstance(result, MemberOutcomes):
            yield self._after_progress(path, result)
        elif not isinstance(result, WorkerFailure):
            self._progress.pop(path, None)
            yield result
        elif progress := self._progress.get(path):
            yield from self._request_resumption(request, progress, result)
        else:
            yield from self._without_parser(request, result)

    def take_resumed(self) -> list[ParseRequest]:
        """Return and clear the containers to resume."""
        resumed, self._resumed = self._resumed, []
        return resumed

    def take_texts(self) -> list[ParseRequest]:
        """Return and clear the files to parse as plain text."""
        texts, self._texts = self._texts, []
        return texts

    def give_up(
        self, request: ParseRequest, result: ParseOutcome | MemberOutcomes | WorkerFailure
    ) -> Iterator[ParseOutcome]:
        """Yield the result of the retry, or a failure."""
        if isinstance(result, WorkerFailure):
            yield _failure_after_loss(read_file(request, self._policy), request, result)
        elif not isinstance(result, MemberOutcomes):
            yield result

    def _after_progress(self, path: FilePath, part: MemberOutcomes) -> MemberOutcomes:
        """Record the progress of a container, and drop outcomes that a resumed worker repeated."""
        before = self._progress.get(path)
        n_done = before.n_done if before else 0
        self._progress[path] = part._replace(n_done=max(n_done, part.n_done), outcomes=(), kept=())
        return part._replace(outcomes=tuple(outcome for outcome in part.outcomes if outcome[0] >= n_done))

    def _request_resumption(
        self, request: ParseRequest, progress: MemberOutcomes, lost: WorkerFailure
    ) -> Iterator[ParseOutcome]:
        before = request.resumption
        broken = before.broken if before else ()
        is_same = before is not None and any(number == progress.n_done for number, _ in broken)
        if not lost.is_proven or is_same or len(broken) == _MAX_LOSSES:
            self._progress.pop(request.source.path)
            failure = FileFailure(request.source.path, Stage.EXTRACT, lost.message)
            is_to_blame = lost.is_proven
            yield (
                failure._replace(source=progress.source, hash=progress.hash, seen_ns=progress.seen_ns)
                if is_to_blame
                else failure
            )
            return
        # After the first crash, only the range of members that contains the cause is known.
        more = ((progress.n_done, lost.message),) if before else ()
        self._resumed.append(request._replace(resumption=Resumption(progress.n_done, (*broken, *more))))

    def _without_parser(self, request: ParseRequest, lost: WorkerFailure) -> Iterator[ParseOutcome]:
        content = read_file(request, self._policy)
        if not isinstance(content, FileContent):
            yield content
        elif not lost.is_proven or not format_of(content, self._policy).is_source_code:
            yield _failure_after_loss(content, request, lost)
        elif self._policy.is_wary or content.source.size > _LIGHT_BYTES:
            self._texts.append(request)
        else:
            yield parse_content(content, request, policy_for_plain_text(self._policy))


def policy_for_plain_text(policy: ParsePolicy) -> ParsePolicy:
    """Return a policy that parses files as plain text."""
    return policy._replace(extract=extract_as_text)


def _failure_after_loss(
    content: FileContent | SkippedFile | FileFailure, request: ParseRequest, lost: WorkerFailure
) -> ParseOutcome:
    if not isinstance(content, FileContent):
        return content
    failure = FileFailure(request.source.path, Stage.EXTRACT, lost.message)
    return with_content_of(failure, content) if lost.is_proven else failure
