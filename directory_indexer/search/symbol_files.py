"""Files that contain a name as a whole word, found by the full-text index, with their parsed texts.

What is parsed of a text depends on nothing else, so the texts that were read last stay parsed, up to a limit.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from directory_indexer.core.cancellation import raise_if_cancelled
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.kinds import GROUPS
from directory_indexer.matching import LinePattern, PatternOptions
from directory_indexer.search.grep import (
    FileMatcher,
    FileMatches,
    GrepRequest,
    files_in_scope,
    json_ids_of_files_sharing_texts,
)
from directory_indexer.search.grep_prefilter import plan_prefilter
from directory_indexer.search.symbol_scopes import SourceModule
from directory_indexer.search.symbol_source import SourceText
from directory_indexer.storage.documents.files import TextFile
from directory_indexer.storage.documents.line_ranges import LineRange, PackedText
from directory_indexer.storage.documents.store import Snapshot


class SourceWithName(NamedTuple):
    """A source file that contains a name, and the offsets at which it occurs."""

    path: FilePath
    file: SourceModule
    starts: tuple[int, ...]


class FilesWithName(NamedTuple):
    """Files that contain a name; `n_unread` more may contain it, but were not read because of their number."""

    sources: tuple[SourceWithName, ...]
    matching_documents: tuple[FileMatches, ...]
    n_unread: int


def find_files_with_name(snapshot: Snapshot, name: str, scope: tuple[FilePath, ...]) -> FilesWithName:
    """Return the files that contain a name as a whole word.

    Raises:
        NotIndexedError: nothing is indexed, or nothing where the request looks.
    """
    request = GrepRequest(PatternOptions((name,), are_texts=True, are_words=_is_word(name[-1])), scope, max_spans=0)
    scoped = files_in_scope(snapshot, request)
    # With separators around it, only whole words of the index can be the name.
    lookup = plan_prefilter([frozenset((f" {name} ",))], snapshot.words)
    file_of_chunk = None if lookup is None else snapshot.line_ranges.file_of_chunk_with_words(lookup)
    # The words of the index have no case and are parts of names, so most files may hold another name.
    holder_ids = (
        set() if file_of_chunk is None else snapshot.line_ranges.files_matching(_word_pattern(name), file_of_chunk)
    )
    files = snapshot.files.text_files(
        scoped.as_json if file_of_chunk is None else json_ids_of_files_sharing_texts(snapshot, scoped, holder_ids)
    )
    sources, n_unread = _sources(snapshot, [file for file in files if file.kind in GROUPS["code"]], name)
    others = [file for file in files if file.kind not in GROUPS["code"]]
    ranges = _line_ranges_of_files(snapshot, {file.holder_id for file in others}, file_of_chunk)
    pattern = LinePattern(request.pattern)
    documents = (FileMatcher(file, pattern, request).match(ranges.get(file.holder_id, ())) for file in others)
    return FilesWithName(sources, tuple(matches for matches in documents if matches is not None), n_unread)


def _sources(snapshot: Snapshot, files: Iterable[TextFile], name: str) -> tuple[tuple[SourceWithName, ...], int]:
    sources: list[SourceWithName] = []
    n_unread = n_characters = 0
    for file in files:
        raise_if_cancelled()
        packed = snapshot.line_ranges.packed(file.holder_id)
        if n_characters > _MAX_CHARACTERS or packed.n_characters > _MAX_FILE_CHARACTERS:
            n_unread += 1
            continue
        source = _source_cache.get(packed, file.kind)
        n_characters += packed.n_characters
        if starts := tuple(_positions_of_name(source.source.text, name)):
            sources.append(SourceWithName(file.path, source, starts))
    return tuple(sources), n_unread


def _line_ranges_of_files(
    snapshot: Snapshot, holder_ids: set[int], file_of_chunk: dict[int, int] | None
) -> dict[int, list[LineRange]]:
    if file_of_chunk is None:
        return {holder_id: snapshot.line_ranges.whole_text(holder_id) for holder_id in holder_ids}
    ranges: dict[int, list[LineRange]] = {}
    for line_range in snapshot.line_ranges.expand_to_lines(
        id_ for id_, file_id in file_of_chunk.items() if file_id in holder_ids
    ):
        ranges.setdefault(line_range.file_id, []).append(line_range)
    return ranges


def _word_pattern(name: str) -> re.Pattern[bytes]:
    """Return a pattern of a name as a word; it begins with the name, which makes the search for it fast."""
    word = re.escape(name.encode())
    return re.compile(rb"%b(?<!\w%b)%b" % (word, word, rb"(?!\w)" if _is_word(name[-1]) else b""))


def _positions_of_name(text: str, name: str) -> Iterator[int]:
    """Yield the positions at which a name begins as a whole word."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not (_is_word(text[at - 1 : at]) or (_is_word(name[-1]) and _is_word(text[end : end + 1]))):
            yield at
        at = text.find(name, end)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character or " ")[0] == "M"


class _SourceCache:
    """The parsed texts that were read last; a text is known by what is stored of it, so it is never outdated."""

    def __init__(self, max_characters: int) -> None:
        self._max_characters = max_characters
        self._files: OrderedDict[tuple[PackedText, str], SourceModule] = OrderedDict()
        self._n_characters = 0
        self._lock = threading.Lock()

    def get(self, packed: PackedText, kind: str) -> SourceModule:
        """Return a text, parsed as a language."""
        key = (packed, kind)
        with self._lock:
            if (file := self._files.get(key)) is not None:
                self._files.move_to_end(key)
                return file
        file = SourceModule(SourceText(packed.unpack(), kind))
        with self._lock:
            self._n_characters += packed.n_characters if key not in self._files else 0
            self._files[key] = file
            while self._n_characters > self._max_characters:
                (oldest, _), _ = self._files.popitem(last=False)
                self._n_characters -= oldest.n_characters
        return file


_MAX_FILE_CHARACTERS: Final = 2_000_000
_MAX_CHARACTERS: Final = 20_000_000
_source_cache: Final = _SourceCache(max_characters=8_000_000)
"""With all that is parsed, a text takes about six bytes a character."""
