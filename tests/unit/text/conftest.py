from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from directory_indexer.chunking.chunks import Chunk
from directory_indexer.config import LoadedConfig, load_config
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, SourceFile, Stage
from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.ids import chunk_id_of
from directory_indexer.core.notes import Finding, Verdict
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import FileFacts, Metadata
from directory_indexer.indexing.planner import Plan
from directory_indexer.indexing.report import IndexReport, WorkEstimate
from directory_indexer.indexing.status import StatusReport, WaitingVectors
from directory_indexer.parsing.outcomes import ParseRequest
from directory_indexer.ranking.candidates import Excerpt, Explanation
from directory_indexer.search.file_texts import FileText
from directory_indexer.search.requests import DiskChange, Hit, SearchRequest, SearchResult
from directory_indexer.storage.documents.runs import Outcome, Phase, RunProgress, RunRecord, Verb
from directory_indexer.storage.documents.statistics import DirectoryStatus, FileCounts, IndexSummary
from directory_indexer.walk import IgnoredPath

NOON = 1_780_315_200.0
FAILURE = FileFailure(file_path("/home/ann/notes/scan.pdf"), Stage.EXTRACT, "page 3 cannot be read")


@pytest.fixture
def now() -> float:
    return NOON


@pytest.fixture
def hit() -> Hit:
    return Hit(
        path=file_path("/home/ann/notes/bread.md"),
        facts=FileFacts("markdown", "Bread", "en"),
        score=0.834,
        chunk_id=chunk_id_of("0b2f3a52-9f0c-5d0e-8f5e-2f6d0c6b7a11"),
        ordinal=2,
        start_line=10,
        end_line=13,
        page=None,
        heading="Sourdough > Baking",
        text="## Baking\n\nBake with steam,\nthen cool.\n",
        excerpt=Excerpt("Bake with steam,\nthen cool.", 12, 13, ((0, 4), (10, 15))),
        n_more_in_file=2,
        explanation=Explanation(
            1, 8.12, 3, 0.71, {"keyword": 0.31, "semantic": 0.58, "same_file": -0.06, "scale": 1.0}
        ),
        metadata=Metadata(authors=("Ann Baker",), created="2026-05-01", tags=("bread", "baking")),
        dated_at=NOON,
    )


@pytest.fixture
def result(hit: Hit) -> SearchResult:
    return SearchResult(SearchRequest("bake steam"), (hit,))


@pytest.fixture
def summary() -> IndexSummary:
    return IndexSummary(2, 1200, 56_000, 54_320, is_running=True, completed_at=NOON)


@pytest.fixture
def index_report() -> IndexReport:
    return IndexReport(
        outcome=Outcome.COMPLETED,
        seconds=72.3,
        files=FileCounts(1196, 5, 1),
        skip_reasons=((SkipReason.BINARY, 3), (SkipReason.TOO_LARGE, 2)),
        n_added=12,
        n_changed=3,
        n_moved=1,
        n_unchanged=1180,
        n_removed=2,
        n_ignored=14,
        skipped=((SkipReason.BINARY, 3), (SkipReason.TOO_LARGE, 2)),
        failures=(FAILURE,),
        n_chunks=420,
        n_embedded=300,
        n_reused=100,
        n_pending=20,
        n_bytes=123_456_789,
        unavailable_roots=(file_path("/mnt/usb"),),
    )


@pytest.fixture
def status_report() -> StatusReport:
    progress = RunProgress(Phase.EMBEDDING, 1204, 1204, 9_000_000, 9_000_000, 1200, 5600, 1)
    docs = (file_path("/home/ann/docs"),)
    return StatusReport(
        directories=(
            DirectoryStatus(
                path=file_path("/home/ann/notes"),
                is_available=True,
                completed_at=NOON - 300,
                n_files=1200,
                n_bytes=9_000_000,
                n_chunks=5600,
                n_embedded=1200,
                skipped=((SkipReason.BINARY, 3), (SkipReason.TOO_LARGE, 2)),
                n_failed=1,
                n_tokens_to_embed=882_000,
                seconds_to_embed=49.0,
            ),
            DirectoryStatus(file_path("/mnt/usb"), False, None, 0, 0, 0, 0, (), 0),
        ),
        failures=(FAILURE,),
        skipped_files=(SkippedFile(file_path("/home/ann/notes/logo.png"), SkipReason.BINARY, "PNG image"),),
        space=EmbeddingSpace("embedded", "all-MiniLM-L6-v2", 384),
        n_database_bytes=34_000_000,
        n_vector_bytes=12_000_000,
        waiting=WaitingVectors(n_chunks=4400, n_tokens=882_000, are_covered=True, seconds=49.0),
        running=RunRecord(8, 4242, "box", Verb.INDEX, docs, NOON - 130, NOON - 1, progress),
        last_run=RunRecord(7, 4100, "box", Verb.INDEX, docs, NOON - 9000, NOON - 7300, progress, Outcome.OUT_OF_TIME),
    )


@pytest.fixture
def findings() -> tuple[Finding, ...]:
    return (
        Finding("configuration", Verdict.OK, "every key has its default"),
        Finding("Qdrant", Verdict.PROBLEM, "passages that it lacks: 12", "dirindex doctor --repair"),
    )


@pytest.fixture
def file_text() -> FileText:
    text = "one\ntwo\nthree\n"
    chunks = (Chunk(0, text, 3, 0, len(text), 1, 3),)
    path = file_path("/home/ann/notes/count.txt")
    return FileText(path, FileFacts("text"), text, 1, 3, 9, 4, chunks, on_disk=DiskChange.CHANGED)


@pytest.fixture
def loaded() -> LoadedConfig:
    environ = {"HOME": "/home/ann", "USERPROFILE": "/home/ann", "DIRINDEX_EMBEDDING__API_KEY": "secret"}
    return load_config(file=None, data_dir=Path("/home/ann/index"), environ=environ)


@pytest.fixture
def estimate() -> WorkEstimate:
    return WorkEstimate("ollama/nomic-embed-text with 'search_document: '", 768)


@pytest.fixture
def plans() -> list[Plan]:
    notes = file_path("/home/ann/notes")
    new = SourceFile(file_path("/home/ann/notes/new.md"), 2048, 0)
    changed = SourceFile(file_path("/home/ann/notes/changed.md"), 1024, 0)
    return [
        Plan(
            directory=notes,
            requests=(ParseRequest(new, None), ParseRequest(changed, None)),
            changed=frozenset({changed.path}),
            skipped=(SkippedFile(file_path("/home/ann/notes/photo.jpg"), SkipReason.BINARY),),
            failures=(FAILURE,),
            removed=(file_path("/home/ann/notes/old.md"),),
            resolved=(),
            removed_hashes=frozenset(),
            n_unchanged=7,
            skip_counts=Counter({SkipReason.BINARY: 3}),
            ignored=(IgnoredPath(file_path("/home/ann/notes/.git"), ".git (ignore_patterns)"),),
        )
    ]
