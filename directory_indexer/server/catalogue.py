"""The tools as a client sees them: names, descriptions, schemas and hints, in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass

from directory_indexer.server.calls import ContentCall, IndexCall, InfoCall, SearchCall, SimilarCall
from directory_indexer.server.results import ContentAnswer, InfoAnswer, JobResult, SearchAnswer


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One tool as it is listed."""

    name: str
    title: str
    description: str
    call: type
    result: type
    is_read_only: bool = True


CATALOGUE = (
    ToolEntry(
        "search",
        "Search files",
        "Find passages in the user's indexed files by meaning and by words: use it whenever an answer may lie in the "
        "user's notes, documents or code, instead of listing or reading files one by one. Answers ranked excerpts with "
        "path, lines, heading and score. Then call get_content with the path and start_line of a hit to read on, or "
        "repeat with next_cursor for more.",
        SearchCall,
        SearchAnswer,
    ),
    ToolEntry(
        "get_content",
        "Read an indexed file",
        "Read the text of an indexed file, or a range of its lines, passages or pages; also of PDFs and other formats. "
        "Use it after search, with the path of a hit and its start_line. Says when the "
        "file has changed since it was indexed; call index then.",
        ContentCall,
        ContentAnswer,
    ),
    ToolEntry(
        "similar_files",
        "Find similar files",
        "Find files whose content is like that of an indexed file: related notes, duplicates, other implementations. "
        "Give the path of a hit of search. Answers one passage of each file, best first; read it with get_content.",
        SimilarCall,
        SearchAnswer,
    ),
    ToolEntry(
        "index",
        "Index or refresh directories",
        "Bring indexed directories up to date, or add one that the operator of this server allows. Use it when files "
        "were added or changed, or when search says that nothing is indexed. Runs in the background: starts a run or "
        'joins the one that goes on, waits up to wait_seconds and answers its state. On "running", call it again to '
        "wait on, or search what is done. Never changes the user's files.",
        IndexCall,
        JobResult,
        is_read_only=False,
    ),
    ToolEntry(
        "server_info",
        "Show what is indexed",
        "List the indexed directories with their counts, the index run that goes on and the state of the embedding "
        "model. Use it first when you do not know what can be searched, and after an error that says so.",
        InfoCall,
        InfoAnswer,
    ),
)
