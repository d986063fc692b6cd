from __future__ import annotations

from typing import TYPE_CHECKING

import hostile_formats
import pytest

from directory_indexer.chunking import ChunkPolicy
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, Stage, source_file_of_status
from directory_indexer.core.ids import content_hash
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import FileFacts
from directory_indexer.parsing.one_file import parse
from directory_indexer.parsing.outcomes import ParsedFile, ParseRequest, UnchangedFile
from directory_indexer.parsing.policy import ParsePolicy

if TYPE_CHECKING:
    from pathlib import Path

POLICY = ParsePolicy(
    max_file_size=10_000,
    include_secrets=False,
    chunking=ChunkPolicy(size=64, overlap=8),
    count_tokens=hostile_formats.count_words,
    extract=hostile_formats.extract,
)
PRIVATE_KEY = f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{60 * 'pA7b'}\n"


def request_for(path: Path, text: str, *, known: str | None = None) -> ParseRequest:
    path.write_text(text)
    status = path.stat()
    source = source_file_of_status(file_path(path), status)
    return ParseRequest(source, content_hash(known.encode()) if known is not None else None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.txt"


def test_a_file_becomes_chunks(path: Path) -> None:
    request = request_for(path, "five words stand here alone")

    outcome = parse(request, POLICY)

    assert isinstance(outcome, ParsedFile)
    assert outcome.source == request.source
    assert outcome.hash == content_hash(b"five words stand here alone")
    assert outcome.facts == FileFacts("hostile", "five words stand her", "en")
    assert [chunk.text for chunk in outcome.chunks] == ["five words stand here alone"]


def test_a_file_whose_bytes_are_known_is_not_extracted(path: Path) -> None:
    request = request_for(path, "fail", known="fail")

    outcome = parse(request, POLICY)

    assert isinstance(outcome, UnchangedFile)
    assert outcome[:2] == (request.source, content_hash(b"fail"))


def test_a_file_whose_bytes_are_others_is_extracted(path: Path) -> None:
    assert isinstance(parse(request_for(path, "new text", known="old text"), POLICY), ParsedFile)


def test_the_stamp_is_that_of_the_bytes_and_not_that_of_the_walk(path: Path) -> None:
    request = request_for(path, "text")
    later = request_for(path, "longer text").source

    outcome = parse(request, POLICY)

    assert isinstance(outcome, ParsedFile)
    assert outcome.source == later


def test_a_file_that_holds_a_key_is_skipped_with_the_rule(path: Path) -> None:
    request = request_for(path, PRIVATE_KEY)

    outcome = parse(request, POLICY)

    assert isinstance(outcome, SkippedFile)
    assert outcome.reason == SkipReason.SECRET
    assert outcome.detail
    assert outcome.source == request.source


def test_a_file_that_holds_a_key_is_parsed_where_secrets_are_wanted(path: Path) -> None:
    assert isinstance(parse(request_for(path, PRIVATE_KEY), POLICY._replace(include_secrets=True)), ParsedFile)


def test_what_the_extractor_skips_is_skipped_with_its_reason(path: Path) -> None:
    request = request_for(path, "encrypted")

    outcome = parse(request, POLICY)

    assert isinstance(outcome, SkippedFile)
    assert outcome[:4] == (request.source.path, SkipReason.ENCRYPTED, "needs a password", request.source)


def test_what_the_extractor_cannot_read_is_a_failure_with_its_words(path: Path) -> None:
    request = request_for(path, "damaged")

    failure = parse(request, POLICY)

    assert isinstance(failure, FileFailure)
    assert failure[:3] == (request.source.path, Stage.EXTRACT, "damaged: no end")
    assert (failure.source, failure.hash) == (request.source, content_hash(path.read_bytes()))


@pytest.mark.parametrize(("behaviour", "error"), [("fail", "KeyError"), ("recurse", "RecursionError")])
def test_a_bug_is_a_failure_that_names_its_place_and_quotes_nothing(path: Path, behaviour: str, error: str) -> None:
    outcome = parse(request_for(path, behaviour), POLICY)

    assert isinstance(outcome, FileFailure)
    assert outcome.stage == Stage.EXTRACT
    assert outcome.message.startswith(f"{error} in hostile_formats.py, line ")
    assert "secret" not in outcome.message


def test_a_lack_of_memory_without_a_limit_is_not_held_against_the_content(path: Path) -> None:
    outcome = parse(request_for(path, "no memory"), POLICY)

    assert outcome == FileFailure(file_path(path), Stage.EXTRACT, "needs more memory than it may use")


def test_a_file_that_became_too_large_is_skipped(path: Path) -> None:
    outcome = parse(request_for(path, "x" * 101), POLICY._replace(max_file_size=100))

    assert isinstance(outcome, SkippedFile)
    assert outcome.reason == SkipReason.TOO_LARGE
