"""Content for `get_content`: the text of a file, or the listing of a directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from directory_indexer.docstore.filters import FileFilter
from directory_indexer.docstore.store import Snapshot
from directory_indexer.errors import NotIndexedError
from directory_indexer.extractors.document import FileFacts
from directory_indexer.paths import FilePath, members_directory, prefix_of
from directory_indexer.searching.texts import FileText, Unit, read_text
from directory_indexer.server.arguments import ArgumentError, ContentArguments
from directory_indexer.server.contents import DIRECTORY, selection_of
from directory_indexer.server.passages import one_line
from directory_indexer.server.places import indexed_directory, indexed_lines


def text_named(snapshot: Snapshot, call: ContentArguments) -> FileText:
    """Return the requested part of a file, or the indexed files of a directory or container.

    Raises:
        NotIndexedError: neither a file nor a directory of this name is indexed.
        UsageError: the file has no such part.
    """
    try:
        path, lines = indexed_lines(snapshot, call.path)
    except NotIndexedError:
        directory = indexed_directory(snapshot, call.path)
        if directory is None:
            raise
        return _listing(snapshot, directory, call)
    selection = selection_of(call, lines)
    try:
        return read_text(snapshot, path, selection)
    except NotIndexedError:
        if not snapshot.files.members(path):
            raise
        return _listing(snapshot, path, call)


def _listing(snapshot: Snapshot, directory: FilePath, call: ContentArguments) -> FileText:
    selection = selection_of(call, None)
    if selection.unit is not Unit.LINES:
        raise ArgumentError(f"'{call.path}' is a directory, which has no {selection.unit}")
    names = _names_in(snapshot, directory)
    if selection.first > len(names):
        raise ArgumentError(f"start_line is {selection.first}; the directory has {len(names)} entries")
    included = names[selection.first - 1 : selection.last]
    return FileText(
        path=directory,
        facts=FileFacts(DIRECTORY),
        text="".join(f"{name}\n" for name in included),
        start_line=selection.first,
        end_line=selection.first + len(included) - 1,
        n_lines=len(names),
        n_chunks=0,
        chunks=(),
        on_disk=None,
    )


def _names_in(snapshot: Snapshot, directory: FilePath) -> Sequence[str]:
    n_files = Counter[str]()
    names: set[str] = set()
    prefixes = (prefix_of(directory), prefix_of(members_directory(directory)))
    for file in snapshot.files.matching(FileFilter(within=(directory,))):
        prefix = next((prefix for prefix in prefixes if file.path.startswith(prefix)), None)
        if prefix is None:
            continue
        first, has_more, _ = file.path.removeprefix(prefix).partition(prefix[-1])
        if has_more:
            n_files[first + has_more] += 1
        else:
            names.add(first)
    counted = (f"{one_line(name)}  ({n} {'file' if n == 1 else 'files'})" for name, n in n_files.items())
    return sorted([*counted, *map(one_line, names)])
