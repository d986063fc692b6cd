"""The table of tools: each row has all that makes one, in the order in which clients see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from directory_indexer.server.arguments import (
    ContentArguments,
    ConvertArguments,
    GrepArguments,
    IndexArguments,
    InfoArguments,
    SearchArguments,
    SimilarArguments,
)
from directory_indexer.server.running import ToolRun, index, quickly, slowly
from directory_indexer.server.schemas import outline_of, schema_of
from directory_indexer.server.tools import Tools
from directory_indexer.wire.documents import ConvertedText, TextAnswer
from directory_indexer.wire.grep import GrepAnswer
from directory_indexer.wire.hits import SearchAnswer
from directory_indexer.wire.objects import JsonObject
from directory_indexer.wire.runs import Run
from directory_indexer.wire.server import ServerAnswer


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One tool: how it is listed, what it takes and gives, and what it does."""

    name: str
    title: str
    description: str
    arguments: type
    result: type
    run: ToolRun
    is_read_only: bool = True

    @property
    def result_schema(self) -> JsonObject:
        """Describe what it gives; what an earlier tool gives, too, is described there."""
        is_known = any(one.result is self.result for one in TOOLS[: TOOLS.index(self)])
        return outline_of(self.result) if is_known else schema_of(self.result)


TOOLS: Final = (
    ToolEntry(
        "search",
        "Search files",
        "Find passages in the user's indexed files by meaning and by words: use it whenever an answer may lie in the "
        "user's notes, documents or code, instead of listing or reading files one by one. Answers ranked excerpts with "
        "path, lines, heading and score. Then call get_content with the path and start_line of a hit to read on, or "
        "repeat with next_cursor for more.",
        SearchArguments,
        SearchAnswer,
        slowly(Tools.search),
    ),
    ToolEntry(
        "grep",
        "Find all lines",
        "Find every line that matches a pattern in the indexed files, PDFs and other formats included: exact and "
        "complete. Use it for names, symbols and phrases that you know; search for questions.",
        GrepArguments,
        GrepAnswer,
        slowly(Tools.grep),
    ),
    ToolEntry(
        "get_content",
        "Read an indexed file",
        "Read the text of an indexed file, or a range of its lines, passages or pages; also of PDFs and other formats. "
        "Use it after search, with the path of a hit and its start_line. Lists a directory. Says when a file has "
        "changed since; call index then.",
        ContentArguments,
        TextAnswer,
        quickly(Tools.get_content),
    ),
    ToolEntry(
        "similar_files",
        "Find similar files",
        "Find files whose content is like that of an indexed file: related notes, duplicates, other implementations. "
        "Answers one passage of each file, best first; read it with get_content.",
        SimilarArguments,
        SearchAnswer,
        slowly(Tools.similar_files),
    ),
    ToolEntry(
        "convert_to_text",
        "Convert a document to Markdown",
        "Convert a document to Markdown, with its headings, tables and metadata: office files, "
        "PDFs, mail, books, web pages. Use it where get_content loses the tables. Changes and indexes nothing.",
        ConvertArguments,
        ConvertedText,
        slowly(Tools.convert_to_text),
    ),
    ToolEntry(
        "index",
        "Index or refresh directories",
        "Bring indexed directories up to date, or add one that the operator of this server allows. Use it when files "
        "were added or changed, or when search says that nothing is indexed. Runs in the background: starts a run or "
        'joins the one that goes on, waits up to wait_seconds and answers its state. On "running", call it again to '
        "wait on. Never changes the user's files.",
        IndexArguments,
        Run,
        index,
        is_read_only=False,
    ),
    ToolEntry(
        "server_info",
        "Show what is indexed",
        "List the indexed directories with their counts, the index run that goes on and the state of the embedding "
        "model. Use it first when you do not know what can be searched.",
        InfoArguments,
        ServerAnswer,
        quickly(Tools.server_info),
    ),
)
