"""`dirindex grep`: find all lines that match a pattern."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

from typing import Annotated

import typer

from directory_indexer.cli.grep import GrepCall, run_grep
from directory_indexer.cli.options import (
    AsJson,
    ColorWhen,
    ConfigFile,
    DataDir,
    InCollection,
    NoServer,
    Quiet,
    new_command_line,
)

cli = new_command_line()

_Lines = typer.Option(min=0, metavar="N")
_MOST_LINES = 2**31 - 1


@cli.command()
def grep(
    *,
    pattern: Annotated[str | None, typer.Argument(help="A regular expression, as ripgrep reads it.")] = None,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Directories or files to look in.")
    ] = None,
    patterns: Annotated[
        list[str] | None,
        typer.Option("--regexp", "-e", metavar="PATTERN", help="A pattern to look for; may be repeated."),
    ] = None,
    are_texts: Annotated[bool, typer.Option("--fixed-strings", "-F", help="Treat patterns as plain text.")] = False,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="Ignore case.")] = False,
    case_sensitive: Annotated[bool, typer.Option("--case-sensitive", "-s", help="Respect case; the default.")] = False,
    smart_case: Annotated[
        bool, typer.Option("--smart-case", "-S", help="Ignore case unless a pattern has a capital letter.")
    ] = False,
    are_words: Annotated[bool, typer.Option("--word-regexp", "-w", help="Match only whole words.")] = False,
    are_lines: Annotated[bool, typer.Option("--line-regexp", "-x", help="Match only whole lines.")] = False,
    invert: Annotated[bool, typer.Option("--invert-match", "-v", help="Show the lines that do not match.")] = False,
    counts: Annotated[bool, typer.Option("--count", "-c", help="Show how many lines of each file match.")] = False,
    files: Annotated[
        bool, typer.Option("--files-with-matches", "-l", help="List only the files with a match.")
    ] = False,
    files_without: Annotated[
        bool, typer.Option("--files-without-match", "-L", help="List only the files without a match.")
    ] = False,
    only_matching: Annotated[
        bool, typer.Option("--only-matching", "-o", help="Show only the text that matches.")
    ] = False,
    max_count: Annotated[
        int | None,
        typer.Option(
            "--max-count", "-m", min=1, max=_MOST_LINES, metavar="N", help="Show at most N lines of each file."
        ),
    ] = None,
    after: Annotated[
        int | None, typer.Option("--after-context", "-A", min=0, metavar="N", help="Show N lines after each match.")
    ] = None,
    before: Annotated[
        int | None, typer.Option("--before-context", "-B", min=0, metavar="N", help="Show N lines before each match.")
    ] = None,
    context: Annotated[
        int, typer.Option("--context", "-C", min=0, metavar="N", help="Show N lines before and after each match.")
    ] = 0,
    kinds: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="Only files of this kind: python, md, pdf …")
    ] = None,
    globs: Annotated[
        list[str] | None,
        typer.Option(
            "--glob", "-g", "--include", help="Only files that match, as in a .gitignore; with !, only others."
        ),
    ] = None,
    _as_always: Annotated[
        bool,
        typer.Option(
            *("--line-number", "-n", "--with-filename", "-H", "--recursive", "-r", "--extended-regexp", "-E"),
            help="Accepted as in grep; grep always does this.",
        ),
    ] = False,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    _no_server: NoServer = False,
    quiet: Quiet = False,
    color: ColorWhen = "auto",
    as_json: AsJson = False,
) -> None:
    """Find all lines that match a pattern, in files of all formats.

    Exits with 0 when there are any, with 1 when there are none, and with 2 when the pattern is invalid or nothing is
    indexed there.
    """
    call = GrepCall(
        pattern=pattern,
        paths=tuple(paths or ()),
        patterns=tuple(patterns or ()),
        are_texts=are_texts,
        ignore_case=ignore_case,
        case_sensitive=case_sensitive,
        smart_case=smart_case,
        are_words=are_words,
        are_lines=are_lines,
        invert=invert,
        counts=counts,
        files=files,
        files_without=files_without,
        only_matching=only_matching,
        max_count=max_count,
        after=after,
        before=before,
        context=context,
        kinds=tuple(kinds or ()),
        globs=tuple(globs or ()),
        collection=collection,
        config=config,
        data_dir=data_dir,
        quiet=quiet,
        color=color,
        as_json=as_json,
    )
    raise typer.Exit(run_grep(call))
