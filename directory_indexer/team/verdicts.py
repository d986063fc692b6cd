"""Validation of the content of a document before it replaces another one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from directory_indexer.credentials.redaction import secret_spans
from directory_indexer.errors import ContentRefusedError, RefusalReason
from directory_indexer.extractors.document import Description
from directory_indexer.files import FileFailure, SkippedFile, SkipReason, source_file
from directory_indexer.parsing.outcomes import MemberOutcomes, ParsedFile, ParseOutcome, ParseRequest
from directory_indexer.parsing.parse import parse_all
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.paths import FilePath, containers_around, file_path
from directory_indexer.walker.ignore import built_in_rules, kind_of_secret, likely_secret


class Verdict(NamedTuple):
    """The contents of a document: passages, masked secrets, and pages that wait for OCR."""

    n_chunks: int = 0
    n_masked: int = 0
    n_waiting_pages: int = 0

    def plus(self, outcome: ParseOutcome) -> Verdict:
        """Return the sum with a part of the document."""
        scans = outcome.scans if isinstance(outcome, ParsedFile | SkippedFile) else ()
        added = self._replace(n_waiting_pages=self.n_waiting_pages + sum(scan.waits for scan in scans))
        if not isinstance(outcome, ParsedFile):
            return added
        return added._replace(n_chunks=self.n_chunks + len(outcome.chunks), n_masked=self.n_masked + outcome.n_masked)


class _Incoming(NamedTuple):
    """The description of content that is not stored yet."""

    is_fetched: bool

    def of(self, path: FilePath) -> Description:
        return Description(is_fetched=self.is_fetched and not containers_around(path))


def require_harmless_words(filename: str, metadata: Mapping[str, Any], policy: ParsePolicy) -> None:
    """Refuse a secret by its name, and metadata that contain one.

    Raises:
        ContentRefusedError: there is a secret.
    """
    if policy.include_secrets:
        return
    name = os.path.basename(filename.replace("\\", "/"))
    decision = built_in_rules(include_secrets=False, include_hidden=True).decide(name, is_directory=False)
    if kind := kind_of_secret(decision) or likely_secret(name):
        raise ContentRefusedError(RefusalReason.SECRET, f"'{name}' is a secret by its name: {kind}", hint=_TAKE_OUT)
    if secret_spans("\n".join(f"{name}: {value}" for name, value in metadata.items())):
        raise ContentRefusedError(RefusalReason.SECRET, "what is said of the document holds a secret", hint=_TAKE_OUT)


def judge(path: Path, policy: ParsePolicy, *, is_fetched: bool, allows_secrets: bool) -> Verdict:
    """Parse content as the index will, and return its verdict.

    Raises:
        ContentRefusedError: nothing in it is searchable, or it contains secrets and must not.
    """
    request = ParseRequest(source_file(file_path(os.path.realpath(path))), None)
    verdict, last = Verdict(), None
    for result in parse_all([request], policy._replace(descriptions=_Incoming(is_fetched))):
        outcomes = [outcome for _, outcome in result.outcomes] if isinstance(result, MemberOutcomes) else [result]
        for outcome in outcomes:
            verdict = verdict.plus(outcome)
        last = None if isinstance(result, MemberOutcomes) else result
    if verdict.n_masked and not allows_secrets:
        raise ContentRefusedError(
            RefusalReason.SECRET,
            f"the document holds what looks like {verdict.n_masked} {'secret' if verdict.n_masked == 1 else 'secrets'}",
            hint=f"{_TAKE_OUT}, or allow them: they are masked in the index, and stay in the original",
        )
    if not verdict.n_chunks and not verdict.n_waiting_pages:
        raise _refusal(last)
    return verdict


def _refusal(outcome: object) -> ContentRefusedError:
    if isinstance(outcome, FileFailure):
        return ContentRefusedError(RefusalReason.UNREADABLE, f"the document cannot be read: {outcome.message}")
    if isinstance(outcome, SkippedFile) and outcome.reason is SkipReason.SECRET:
        return ContentRefusedError(RefusalReason.SECRET, f"the document is a secret: {outcome.detail}", hint=_TAKE_OUT)
    if isinstance(outcome, SkippedFile) and outcome.reason is SkipReason.TOO_LARGE:
        return ContentRefusedError(RefusalReason.TOO_LARGE, "the document is too large to be read")
    if isinstance(outcome, SkippedFile) and outcome.reason in {SkipReason.BINARY, SkipReason.ENCRYPTED}:
        return ContentRefusedError(RefusalReason.UNREADABLE, f"the document cannot be read: it is {outcome.reason}")
    return ContentRefusedError(RefusalReason.EMPTY, "the document holds no text", hint="send one that does")


_TAKE_OUT = "take it out, and send the document again"
