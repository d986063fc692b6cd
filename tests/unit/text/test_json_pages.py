from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from directory_indexer.api import parse_cursor
from directory_indexer.api.collections import (
    BackupAnswer,
    CollectionEntry,
    CollectionsAnswer,
    DeletedAnswer,
    Refusal,
    RestoreAnswer,
    SentAnswers,
    document_entry,
    documents_answer,
    scopes_answer,
    sent_answer,
)
from directory_indexer.api.contents import OutlineList, converted_text, outline_answer
from directory_indexer.api.reports import (
    ForgetAnswer,
    InstallAnswer,
    KeyList,
    PartEntry,
    UnreadableFile,
    UsageAnswer,
    UseEntry,
    config_answer,
    doctor_answer,
    error_answer,
    export_answer,
    key_facts,
    migration_answer,
)
from directory_indexer.api.symbols import locate_answer, symbol_answer
from directory_indexer.chunking.chunks import Chunk
from directory_indexer.collections.documents import DocumentPage
from directory_indexer.collections.ingest import IngestEffect, IngestResult
from directory_indexer.config import CollectionName
from directory_indexer.core.errors import ConfigError
from directory_indexer.core.files import FileFailure, PageKey, Scan, SkippedFile, SkipReason, Stage
from directory_indexer.core.ids import ChunkId, DocId
from directory_indexer.core.paths import file_path
from directory_indexer.core.rights import Right
from directory_indexer.formats.document import FileFacts
from directory_indexer.indexing.report import IndexReport, MigrationReport
from directory_indexer.integrations.exporting import named_format
from directory_indexer.integrations.exporting.exporter import ExportReport
from directory_indexer.matching import PatternOptions
from directory_indexer.search.file_texts import FileText
from directory_indexer.search.grep import FileMatches, GrepLine, GrepRequest
from directory_indexer.search.issue_localisation import LocateResult, Spot
from directory_indexer.search.outlines import Outline, OutlineItem
from directory_indexer.search.requests import Hit, SearchResult
from directory_indexer.search.symbol_source import Definition
from directory_indexer.search.symbols import Caller, DefinitionLocation, SymbolResult, Use, Uses, symbol_request
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.registry.keys import Key
from directory_indexer.storage.registry.stored_documents import (
    DocumentSource,
    DocumentState,
    StoredDocument,
    StoredName,
)
from directory_indexer.text.formatting import PathStyle, plain
from directory_indexer.text.index_reports import index_lines
from directory_indexer.text.json_pages import (
    PAGE_BYTES,
    documents_json,
    get_json,
    grep_json,
    index_json,
    plan_json,
    record_json,
    search_json,
    status_json,
)

if TYPE_CHECKING:
    from directory_indexer.config import LoadedConfig
    from directory_indexer.core.notes import Finding
    from directory_indexer.indexing.planner import Plan
    from directory_indexer.indexing.report import WorkEstimate
    from directory_indexer.indexing.status import StatusReport
    from directory_indexer.storage.documents.statistics import IndexSummary

GREP = GrepRequest(PatternOptions((r"bak\w+",)))
FOUND = FileMatches(
    file_path("/home/ann/notes/bread.md"), "markdown", (GrepLine(12, "It is baked with steam,", spans=((6, 11),)),), 1
)
START = parse_cursor("", question=["bake"])
DOCUMENT = Path(__file__).parents[3] / "docs" / "json.md"


def many(hit: Hit, n_hits: int) -> tuple[Hit, ...]:
    return tuple(hit._replace(path=file_path(f"/n/{n}.md"), chunk_id=ChunkId(bytes([n] * 16))) for n in range(n_hits))


def text_of(n_lines: int, line: str = "word " * 20) -> FileText:
    lines = [f"{n} {line}" for n in range(1, n_lines + 1)]
    starts = [sum(len(one) + 1 for one in lines[:n]) for n in range(n_lines)]
    chunks = tuple(
        Chunk(n, f"{one}\n", 1, start, start + len(one) + 1, n + 1, n + 1)
        for n, (one, start) in enumerate(zip(lines, starts, strict=True))
    )
    text = "".join(chunk.text for chunk in chunks)
    path = file_path("/n/a.txt")
    return FileText(path, FileFacts("text"), text, 1, n_lines, n_lines, n_lines, chunks, on_disk=None)


def _symbol() -> SymbolResult:
    app, store = file_path("/home/ann/shop/app.py"), file_path("/home/ann/shop/store.py")
    definition = DefinitionLocation(
        store, Definition("open", "method", 12, 20, "Store"), "def open(self, path):", False
    )
    doubtful = Use(9, "other.open(path)", "call", "same name in another scope")
    return SymbolResult(
        symbol_request("Store.open", depth=1),
        (definition,),
        (Uses(app, "main", 4, (Use(6, "store.open(path)", "call"), doubtful)),),
        (),
        (Uses(file_path("/home/ann/shop/README.md"), "", 1, (Use(3, "Call Store.open first.", "mention"),)),),
        (Caller(0, app, "main", 6),),
    )


def _located() -> LocateResult:
    spot = Spot(file_path("/home/ann/shop/store.py"), 12, 20, "Store > open", "frame, line 14", 96)
    return LocateResult((spot,), (), ())


def _outline() -> Outline:
    path = file_path("/home/ann/notes/handbook.md")
    entries = (OutlineItem("Handbook", 0, 61, 1, 9, n_folded=2),)
    return Outline(path, FileFacts("markdown", "Handbook"), 61, entries, n_lines=9, n_chunks=1)


@pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")
def test_the_documentation_shows_what_is_written(  # noqa: PLR0913, PLR0917 - each is one shape
    result: SearchResult,
    summary: IndexSummary,
    file_text: FileText,
    index_report: IndexReport,
    plans: list[Plan],
    estimate: WorkEstimate,
    status_report: StatusReport,
    findings: tuple[Finding, ...],
    loaded: LoadedConfig,
) -> None:
    produced = {
        "search": search_json(result, index=summary, position=START, full=True, explain=True),
        "grep": grep_json(GREP, [FOUND], notes=()),
        "get": get_json(file_text),
        "outline": record_json(OutlineList((outline_answer(_outline()),))),
        "symbol": record_json(symbol_answer(_symbol())),
        "locate": record_json(locate_answer(_located())),
        "index": index_json(index_report),
        "index --dry-run": plan_json(plans, estimate),
        "status": status_json(
            status_report._replace(directories=status_report.directories[:1], last_run=None), verbose=True
        ),
        "convert": record_json(converted_text("report.docx", '---\ntitle: "Report"\nkind: "docx"\n---\n\n# Report\n')),
        "export": record_json(
            export_answer(
                ExportReport(
                    Outcome.COMPLETED,
                    3.214,
                    named_format("sqlite"),
                    file_path("/home/ann/notes.db"),
                    1200,
                    5600,
                    9000000,
                )
            )
        ),
        "migrate": record_json(
            migration_answer(
                MigrationReport(Outcome.COMPLETED, 3.214, 12034, 12034, 200, 200), endpoint="http://localhost:6333"
            )
        ),
        "forget": record_json(ForgetAnswer("/home/ann/notes", 1200)),
        "key": record_json(KeyList((key_facts(Key("ann", b"", Right.READ, None, 1_772_366_400.0)),))),
        **_of_assistants(),
        **_of_a_team(),
        "doctor": record_json(doctor_answer(findings)),
        "config": record_json(config_answer(loaded._replace(settings=loaded.settings[1:2]))),
        "errors": record_json(
            error_answer(ConfigError("'/n/c.json' does not exist", hint="run `dirindex config init`"))
        ),
    }
    sections = re.findall(
        r"^## `?([^`\n]+)`?.*?^```json\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    documented = {name: json.loads(example) for name, example in sections}
    assert documented == {name: json.loads(page) for name, page in produced.items()}


SENT = StoredDocument(
    collection=CollectionName("birds"),
    doc_id=DocId("4t5wfkoro22ubw2ydmh72o7e"),
    version=2,
    source=DocumentSource.FILE,
    filename="heron.md",
    stored_name=StoredName("heron.md"),
    url="",
    media_type="text/markdown",
    n_bytes=4096,
    content_hash="64804fa3fa62b3013905e158a23d055c",
    mtime_ns=0,
    title="On herons",
    metadata='{"authors": ["Ann Baker"], "shelf": 7}',
    etag="",
    last_modified="",
    allows_secrets=False,
    state=DocumentState.COMPLETE,
    message="",
    n_chunks=3,
    n_masked=0,
    added_at=1780315200.0,
    changed_at=1780315200.0,
)


def _of_assistants() -> dict[str, str]:
    path = "/home/ann/.cursor/mcp.json"
    use = UseEntry("grep", 310, 4, 201_000, 648, 9_100, 0)
    unreadable = UnreadableFile("/home/ann/cut.jsonl", "it is not a transcript")
    records: dict[str, tuple[Any, ...]] = {
        "install": InstallAnswer(dry_run=False, parts=(PartEntry("cursor", "mcp", path, "add", None),), files=(path,)),
        "usage": UsageAnswer({"claude-code": 12}, (use,), (unreadable,), 3, 1),
    }
    return {name: record_json(record) for name, record in records.items()}


def _of_a_team() -> dict[str, str]:
    collection = CollectionEntry("birds", 12, "All about birds", "2026-06-01T12:00:00Z", {"complete": 12}, 12, 56, 56)
    refusal = Refusal("notes.txt", "the document holds no text", "send one that does")
    scopes = {"work": [file_path("/home/ann/notes"), file_path("/home/ann/letters")]}
    records: dict[str, tuple[Any, ...]] = {
        "collection list": CollectionsAnswer((collection,)),
        "add": SentAnswers((sent_answer(IngestResult(SENT, IngestEffect.REPLACED)),), (refusal,)),
        "documents list": documents_answer(DocumentPage((SENT,), SENT.doc_id)),
        "documents get": document_entry(SENT),
        "documents delete": DeletedAnswer((SENT.doc_id,)),
        "scope": scopes_answer(scopes),
        "backup": BackupAnswer("/mnt/backup/monday", 2, 12, 1200, 40, 9_000_000, vectors=True),
        "restore": RestoreAnswer(
            "2026-06-01T12:00:00Z", 2, 12, 0, vectors=True, left_out=("key 'eve' (read, birds)",), directories=()
        ),
    }
    return {name: record_json(record) for name, record in records.items()}


def test_every_key_of_the_examples_is_explained() -> None:
    for section in DOCUMENT.read_text("utf-8").split("\n## ")[1:]:
        _, example, explanation = re.split(r"```(?:json)?\n", section)
        mentioned = set(re.findall(r"`(\w+)`", explanation))
        assert [key for key in json.loads(example) if key not in mentioned] == []


def test_a_path_that_is_no_unicode_and_an_excerpt_with_escapes_are_exact(
    result: SearchResult, hit: Hit, summary: IndexSummary
) -> None:
    excerpt = hit.excerpt._replace(text="\x1b[2J\n\u202e")
    odd = hit._replace(path=file_path("/srv/caf\udce9\n"), excerpt=excerpt)
    page = search_json(result._replace(hits=(odd,)), index=summary, position=START)
    assert page.isascii()
    assert page.isprintable()
    (shown,) = json.loads(page)["hits"]
    assert (shown["path"], shown["excerpt"]) == (odd.path, "\x1b[2J\n\u202e")


def test_text_and_reasons_come_only_when_asked_for(result: SearchResult, summary: IndexSummary) -> None:
    (shown,) = json.loads(search_json(result, index=summary, position=START))["hits"]
    assert not {"text", "explanation"} & set(shown)


def test_hits_that_do_not_fit_are_left_out_whole_and_the_cursor_leads_on(
    result: SearchResult, hit: Hit, summary: IndexSummary
) -> None:
    whole = result._replace(hits=many(hit, 30))
    paths: list[str] = []
    cursor = ""
    n_pages = 0
    while cursor is not None:
        position = parse_cursor(cursor, question=["bake"])
        text = search_json(position.rest(whole, limit=30), index=summary, position=position, page_bytes=5000)
        page = json.loads(text)
        assert len(text) <= 5000
        assert page["truncated"] == (page["next_cursor"] is not None)
        paths += [shown["path"] for shown in page["hits"]]
        cursor = page["next_cursor"]
        n_pages += 1
    assert paths == [f"/n/{n}.md" for n in range(30)]
    assert n_pages > 2


def test_a_page_holds_at_least_one_hit(result: SearchResult, summary: IndexSummary) -> None:
    assert len(json.loads(search_json(result, index=summary, position=START, page_bytes=10))["hits"]) == 1


def test_an_answer_cut_off_by_its_limit_says_where_the_rest_begins(
    result: SearchResult, hit: Hit, summary: IndexSummary
) -> None:
    whole = result._replace(hits=many(hit, 10))
    page = json.loads(search_json(START.rest(whole, limit=4), index=summary, position=START))
    assert (len(page["hits"]), page["truncated"]) == (4, True)
    following = parse_cursor(page["next_cursor"], question=["bake"])
    assert following.limit(4) == 8
    assert [one.path for one in following.rest(whole, limit=4).hits] == [f"/n/{n}.md" for n in range(4, 8)]


def test_a_text_that_does_not_fit_ends_with_a_line_and_names_the_lines_that_follow() -> None:
    whole = text_of(100)
    page = json.loads(get_json(whole, page_bytes=3000))
    assert len(get_json(whole, page_bytes=3000)) <= 3000
    assert page["truncated"]
    assert whole.text.startswith(page["text"])
    assert page["text"].count("\n") == page["end_line"]
    assert (page["next_start_line"], page["next_chunks"]) == (page["end_line"] + 1, None)


def test_a_text_that_fits_is_whole() -> None:
    page = json.loads(get_json(text_of(100)))
    assert (page["text"], page["truncated"], page["next_start_line"]) == (text_of(100).text, False, None)


@pytest.mark.parametrize("character", ["x", "é", "\U0001f600", '"'])
def test_of_a_line_that_is_too_long_the_chunks_lead_on_and_nothing_is_lost(character: str) -> None:
    chunks = tuple(Chunk(n, character * 100, 1, n * 100, n * 100 + 100, 1, 1) for n in range(50))
    text = "".join(chunk.text for chunk in chunks)
    whole = FileText(file_path("/n/min.js"), FileFacts("javascript"), text, 1, 1, 1, 50, chunks, on_disk=None)
    page = json.loads(get_json(whole, page_bytes=3000))
    assert len(get_json(whole, page_bytes=3000)) <= 3000
    first = int(re.fullmatch(r"(\d+)-50", page["next_chunks"])[1])  # type: ignore[index]
    assert page["text"] + text[len(page["text"]) :] == text
    assert (first - 1) * 100 <= len(page["text"]) < first * 100


def test_the_files_of_the_index_stand_beside_those_of_the_run(index_report: IndexReport) -> None:
    assert json.loads(index_json(index_report))["indexed"] == {"files": 1196, "skipped": 5, "failed": 1}
    assert "1,196 files + 5 skipped + 1 failed" in plain(index_lines(index_report, paths=PathStyle()))


def test_failures_that_do_not_fit_are_counted_all_the_same(index_report: IndexReport) -> None:
    failures = tuple(FileFailure(file_path(f"/n/{n}"), Stage.READ, "vanished") for n in range(10_000))
    text = index_json(index_report._replace(failures=failures))
    page = json.loads(text)
    assert len(text) <= PAGE_BYTES
    assert page["failed"] == 10_000
    assert page["truncated"]
    assert 1000 < len(page["failures"]) < 10_000


def test_failures_that_the_report_itself_left_out_are_told(status_report: StatusReport) -> None:
    directory = status_report.directories[0]._replace(n_failed=2)
    page = json.loads(status_json(status_report._replace(directories=(directory,))))
    assert (page["failed"], len(page["failures"]), page["truncated"]) == (2, 1, True)


def test_directories_and_pages_that_do_not_fit_are_left_out(status_report: StatusReport) -> None:
    directories = tuple(status_report.directories[0]._replace(path=file_path(f"/home/ann/{n}")) for n in range(2000))
    scans = tuple((file_path(f"/home/ann/{n}.pdf"), Scan(1, PageKey(b"key"), problem="x" * 500)) for n in range(1000))
    text = status_json(status_report._replace(directories=directories, unreadable=scans), verbose=True)
    page = json.loads(text)
    assert len(text) <= PAGE_BYTES
    assert page["truncated"]
    assert 0 < len(page["directories"]) < 2000
    assert page["files"] == 2000 * 1200


def test_documents_that_do_not_fit_are_left_to_the_next_page() -> None:
    metadata = json.dumps({"note": "x" * 1000})
    sent = tuple(SENT._replace(doc_id=DocId(f"{n:024}"), metadata=metadata) for n in range(1000))
    text = documents_json(DocumentPage(sent, ""))
    page = json.loads(text)
    assert len(text) <= PAGE_BYTES
    assert 100 < len(page["documents"]) < 200
    assert page["next_cursor"] == page["documents"][-1]["doc_id"]
    assert json.loads(documents_json(DocumentPage(sent[:2], "")))["next_cursor"] is None


def test_skipped_files_share_the_page_with_failures(status_report: StatusReport) -> None:
    skipped = tuple(SkippedFile(file_path(f"/n/{n}"), SkipReason.BINARY, "") for n in range(100))
    directory = status_report.directories[0]._replace(n_failed=1, skipped=((SkipReason.BINARY, 100),))
    report = status_report._replace(directories=(directory,), skipped_files=skipped)
    assert "skipped_files" not in json.loads(status_json(report))
    whole = json.loads(status_json(report, verbose=True))
    assert (len(whole["skipped_files"]), whole["truncated"]) == (100, False)
    assert whole["skipped_files"][0] == {"path": "/n/0", "reason": "binary", "detail": None}
    text = status_json(report, verbose=True, page_bytes=3000)
    page = json.loads(text)
    assert len(text) <= 3000
    assert len(page["failures"]) == 1
    assert 0 < len(page["skipped_files"]) < 100
    assert page["truncated"]


def test_the_counts_of_a_run_add_up(index_report: IndexReport, plans: list[Plan], estimate: WorkEstimate) -> None:
    for page in (index_json(index_report), plan_json(plans, estimate)):
        counts: dict[str, Any] = json.loads(page)
        parts = ("added", "changed", "moved", "unchanged", "skipped", "failed")
        assert counts["files"] == sum(counts.get(part, 0) for part in parts)


def test_an_empty_index_has_counts_of_zero(status_report: StatusReport) -> None:
    empty = status_report._replace(directories=(), failures=(), space=None, running=None, last_run=None)
    page = json.loads(status_json(empty))
    assert [page[name] for name in ("files", "chunks", "embedded", "failed", "skipped")] == [0] * 5
    assert (page["model"], page["run"], page["truncated"]) == (None, None, False)


def test_the_key_of_a_service_is_not_in_the_json(loaded: LoadedConfig) -> None:
    page = record_json(config_answer(loaded))
    assert json.loads(page)["settings"]["embedding.api_key"]["value"] == "**********"
    assert '"secret"' not in page
