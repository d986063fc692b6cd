"""Table of the tools, in the order in which clients see them."""

from __future__ import annotations

from dataclasses import dataclass

from directory_indexer.server.arguments import (
    ContentArguments,
    ConvertArguments,
    GrepArguments,
    IndexArguments,
    InfoArguments,
    LocateArguments,
    OutlineArguments,
    SearchArguments,
    SimilarArguments,
    SymbolArguments,
)
from directory_indexer.server.running import ToolRun, convert, index, quickly, server_info, slowly
from directory_indexer.server.tools import Tools
from directory_indexer.wire.documents import ConvertedText, TextAnswer
from directory_indexer.wire.grep import GrepAnswer
from directory_indexer.wire.hits import SearchAnswer
from directory_indexer.wire.outlines import OutlineAnswer
from directory_indexer.wire.runs import Run
from directory_indexer.wire.server import ServerAnswer
from directory_indexer.wire.symbols import LocateAnswer, SymbolAnswer


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One tool: its listing, its argument and result records, and its implementation."""

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
        "Find passages in the user's notes, documents and code by meaning and by words. Use it first, "
        "instead of listing or reading files. Several questions go into one call.",
        SearchArguments,
        SearchAnswer,
        slowly(Tools.search),
    ),
    ToolEntry(
        "grep",
        "Find all lines",
        "Find every line that matches, in all formats: exact and complete. Use it for names and phrases that you know, "
        "and to make sure that there is no more.",
        GrepArguments,
        GrepAnswer,
        slowly(Tools.grep),
    ),
    ToolEntry(
        "symbol",
        "Find a symbol",
        "Find where a name of code is defined, who calls it and which tests use it. Use it instead of grep for names.",
        SymbolArguments,
        SymbolAnswer,
        slowly(Tools.symbol),
    ),
    ToolEntry(
        "locate",
        "Locate a problem",
        "List the files and lines to read for an issue, stack trace, failing test or diff. Use it first to mend one.",
        LocateArguments,
        LocateAnswer,
        slowly(Tools.locate),
    ),
    ToolEntry(
        "get_content",
        "Read a file",
        "Read lines, pages or passages of an indexed file of any format. Use it after search or grep, with path and "
        "start_line of a hit. Lists a directory.",
        ContentArguments,
        TextAnswer,
        quickly(Tools.get_content),
    ),
    ToolEntry(
        "outline",
        "Outline a file",
        "List the symbols, headings or pages of a file with lines and tokens, or a directory as a tree. Use it before "
        "reading a long file.",
        OutlineArguments,
        OutlineAnswer,
        quickly(Tools.outline),
    ),
    ToolEntry(
        "similar_files",
        "Find similar files",
        "Find files with content like that of one: related notes, duplicates, other implementations.",
        SimilarArguments,
        SearchAnswer,
        slowly(Tools.similar_files),
    ),
    ToolEntry(
        "convert_to_text",
        "Convert to Markdown",
        "Convert an office file, PDF, mail, book or web page to Markdown. Use it where get_content loses tables. "
        "Indexes nothing.",
        ConvertArguments,
        ConvertedText,
        convert,
    ),
    ToolEntry(
        "index",
        "Index directories",
        "Bring directories up to date, or add one. Use it when files are missing or an answer says that they changed. "
        'Goes on in the background: on "running", call it again. Changes no files.',
        IndexArguments,
        Run,
        index,
        is_read_only=False,
    ),
    ToolEntry(
        "server_info",
        "Show what is indexed",
        "List indexed directories, collections and the index run. Use it when you do not know what can be searched.",
        InfoArguments,
        ServerAnswer,
        server_info,
    ),
)
