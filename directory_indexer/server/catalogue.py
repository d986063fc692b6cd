"""The table of tools: each row has all that makes one, in the order in which clients see them."""

from __future__ import annotations

from dataclasses import dataclass

from directory_indexer.server.arguments import (
    ContentArguments,
    ConvertArguments,
    GrepArguments,
    IndexArguments,
    InfoArguments,
    OutlineArguments,
    SearchArguments,
    SimilarArguments,
)
from directory_indexer.server.running import ToolRun, convert, index, quickly, server_info, slowly
from directory_indexer.server.tools import Tools
from directory_indexer.wire.documents import ConvertedText, TextAnswer
from directory_indexer.wire.grep import GrepAnswer
from directory_indexer.wire.hits import SearchAnswer
from directory_indexer.wire.outlines import OutlineAnswer
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


TOOLS = (
    ToolEntry(
        "search",
        "Search files",
        "Find passages in the user's indexed files by meaning and by words: use it whenever an answer may lie in the "
        "user's notes, documents or code, instead of listing or reading files one by one. Answers ranked excerpts with "
        "path and lines. Then call get_content with the path and start_line of a hit, or repeat with next_cursor.",
        SearchArguments,
        SearchAnswer,
        slowly(Tools.search),
    ),
    ToolEntry(
        "grep",
        "Find all lines",
        "Find every line that matches a pattern, also in PDFs: exact and complete. Use it for names and phrases "
        "that you know.",
        GrepArguments,
        GrepAnswer,
        slowly(Tools.grep),
    ),
    ToolEntry(
        "get_content",
        "Read an indexed file",
        "Read the text of an indexed file, or a range of its lines, passages or pages; also of PDFs and other formats. "
        "Use it after search, with path and start_line of a hit. Lists a directory. Says when a file has "
        "changed; call index then.",
        ContentArguments,
        TextAnswer,
        quickly(Tools.get_content),
    ),
    ToolEntry(
        "outline",
        "Outline a file",
        "Show an indexed file's symbols, headings or pages with lines and tokens, or a directory's tree. Use it before "
        "reading a long file.",
        OutlineArguments,
        OutlineAnswer,
        quickly(Tools.outline),
    ),
    ToolEntry(
        "similar_files",
        "Find similar files",
        "Find files whose content is like that of an indexed file: related notes, duplicates, other implementations. "
        "Answers one passage of each file, best first.",
        SimilarArguments,
        SearchAnswer,
        slowly(Tools.similar_files),
    ),
    ToolEntry(
        "convert_to_text",
        "Convert a document to Markdown",
        "Convert a document to Markdown, with its tables: office files, PDFs, mail, books, web "
        "pages. Use it where get_content loses the tables. Indexes nothing.",
        ConvertArguments,
        ConvertedText,
        convert,
    ),
    ToolEntry(
        "index",
        "Index or refresh directories",
        "Bring indexed directories up to date, or add one that the operator of this server allows. Use it when files "
        "were added or changed, or when search says that nothing is indexed. Runs in the background, and answers its "
        'state after wait_seconds; on "running", call it again. Never changes a file of the user.',
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
        server_info,
    ),
)
