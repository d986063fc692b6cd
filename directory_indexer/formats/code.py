"""Source code as a document whose sections are its definitions, found by tree-sitter queries.

All offsets are those of the UTF-8 bytes that tree-sitter works on; only the final section starts are converted to
characters. Nothing recurses and no line is scanned twice, so deep nesting or 10 MB on one line take linear time.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import count, pairwise
from types import ModuleType
from typing import NamedTuple, cast

from tree_sitter import Language, Node, Parser, Point, Query, QueryCursor

from directory_indexer.formats.document import Document, Section
from directory_indexer.formats.grammars import GRAMMARS

_MAX_NAME = 100
_MAX_RUBBLE = 10_000
_NODES_A_LOOK = 64
_CALLS_A_LOOK = 16
_WORD_BYTES = 4096


class Definition(NamedTuple):
    """A range of bytes that defines something, with its name and the names of its owners."""

    start: int
    end: int
    names: tuple[str, ...]


class Lead(NamedTuple):
    """A range of bytes that belongs to the definition after it, such as decorators and comments."""

    start: int
    end: int


def find_definitions(source: bytes, kind: str, *, deadline: float) -> tuple[list[Definition], list[Lead]]:
    """Return the definitions in source code, outermost first, and their leading comments and decorators.

    Raises:
        TimeoutError: the deadline of processor time has passed.
    """
    definitions: list[Definition] = []
    leads: list[Lead] = []
    for captures in _matches(source, kind, deadline):
        if "lead" in captures:
            leads.append(Lead(*captures["lead"][0].byte_range))
        elif definition := _definition_in(source, captures):
            definitions.append(definition)
    return _outermost_first(definitions), sorted(leads)


def _outermost_first(definitions: list[Definition]) -> list[Definition]:
    """Return the definitions by position; of several names for one range, the first that a query matched."""
    by_stretch = {definition[:2]: definition for definition in reversed(definitions)}
    return sorted(by_stretch.values(), key=lambda definition: (definition.start, -definition.end))


def _matches(source: bytes, kind: str, deadline: float) -> list[dict[str, list[Node]]]:
    language, query = _language(kind)

    calls = count()

    def is_late(*_: object) -> bool:
        # The clock is a call of the system, which takes longer than the parser does in between.
        return next(calls) % _CALLS_A_LOOK == 0 and time.thread_time() > deadline

    reader = _Reader(source)
    try:
        tree = Parser(language).parse(reader, progress_callback=is_late)
    except ValueError as error:
        raise TimeoutError from error
    finally:
        reader.end_parsing()
    if _is_rubble(tree.root_node, is_late):
        raise TimeoutError
    # Without a progress callback, which crashes the process in tree-sitter 0.26.1.
    return [captures for _, captures in QueryCursor(query).matches(tree.root_node)]


class _Reader:
    """Source that tree-sitter reads from any offset: the parser first, then each word that a query compares.

    tree-sitter 0.26.1 never releases what the parser was passed, so it gets a view, which can be released. Words are
    passed as bytes, and are released.
    """

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._view: memoryview | None = memoryview(b"")

    def __call__(self, start: int, _: Point) -> bytes | memoryview:
        if self._view is None:
            return self._source[start : start + _WORD_BYTES]
        self._view.release()
        self._view = memoryview(self._source)[start:]
        return self._view

    def end_parsing(self) -> None:
        """Release the view that the parser still holds."""
        if self._view is not None:
            self._view.release()
        self._view = None


def _is_rubble(root: Node, is_late: Callable[[], bool]) -> bool:
    """Whether so much failed to parse that a query takes too long: its time grows with the square of that."""
    cursor = root.walk()
    n_rubble = 0
    is_below = True
    for n_nodes in count(1):
        if n_nodes % _NODES_A_LOOK == 0 and is_late():
            break
        node = cast("Node", cursor.node)
        if is_below and node.is_error:
            n_rubble += node.child_count
        if n_rubble > _MAX_RUBBLE:
            return True
        if is_below and node.has_error and cursor.goto_first_child():
            continue
        is_below = cursor.goto_next_sibling()
        if not is_below and not cursor.goto_parent():
            return False
    return True


def _definition_in(source: bytes, captures: dict[str, list[Node]]) -> Definition | None:
    """Return the definition of a match; None if it has no name, or is a binding of a single line."""
    node = captures.get("definition", captures.get("binding", []))[0]
    start, end = node.byte_range
    if "binding" in captures and source.find(b"\n", start, end - 1) < 0:
        return None
    field = node.child_by_field_name("name")
    labels = [_node_text(source, part) for part in captures.get("name", [field] if field else [])]
    owners = [_node_text(source, part) for part in captures.get("owner", [])]
    name = " ".join(filter(None, labels))
    return Definition(start, end, (*owners, name)) if name else None


def _node_text(source: bytes, node: Node) -> str:
    start, end = node.byte_range
    return " ".join(source[start : min(end, start + 4 * _MAX_NAME)].decode("utf-8", "ignore").split())[:_MAX_NAME]


@cache
def _language(kind: str) -> tuple[Language, Query]:
    grammar = GRAMMARS[kind]
    language = Language(getattr(_import_binding(grammar.module), grammar.function)())
    return language, Query(language, grammar.query)


def _import_binding(package: str) -> ModuleType:
    """Import only the native part of a grammar: the rest imports modules that read query files, in 10 ms and more."""
    spec_of_package = importlib.util.find_spec(package)
    locations = spec_of_package.submodule_search_locations if spec_of_package else None
    spec = importlib.machinery.PathFinder.find_spec(f"{package}._binding", locations)
    if spec is None or spec.loader is None:
        return importlib.import_module(package)
    binding = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(binding)
    return binding


CODE_KINDS: frozenset[str] = frozenset(GRAMMARS)
"""The kinds of file that `extract_code` can read."""

# Ordinary code parses at 1 to 4 MB a second; what takes longer is generated, or broken in a way that is not worth it.
# Some parsers never check the deadline, so the caller must be able to kill this process.
_MAX_SECONDS = 15.0
_SECONDS = 1.0
_SECONDS_PER_MB = 5.0
_MAX_DEPTH = 8
_MAX_GAP = 200
_MAX_NEWLINES = 2
_MAX_LEADS = 500

_INDENTATION = re.compile(rb"[ \t]*")
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n[ \t]*\Z")
_COMMENT = rb"(?:[ \t;]*(?://|#|--|/\*)[^\n]{0,200})?"
_REST_OF_LINE = re.compile(rb"[ \t\r;,)\]}]{0,50}" + _COMMENT + rb"[ \t\r]*(?:\n|\Z)")
_SCRAP = re.compile(rb"(?:[)\]}]" + _COMMENT + rb"|\b(?:end|endif|fi|done|esac)\b" + _COMMENT + rb"|[^\w\x80-\xff])*+")


class _Part(NamedTuple):
    """A section in bytes."""

    start: int
    headings: tuple[str, ...]


class _Open(NamedTuple):
    """A definition that has begun and not ended, with the end of its first line and its symbol path."""

    definition: Definition
    line_end: int
    headings: tuple[str, ...]


def extract_code(text: str, kind: str, *, seconds: float | None = None) -> Document:
    """Split source code into its definitions; if that takes more processor time than its size allows, keep it whole.

    `seconds` overrides the limit.
    """
    # A grammar takes NUL for the end of the file; one byte for one byte keeps every offset.
    source = text.encode("utf-8", "replace").replace(b"\0", b" ")
    allowed = min(_SECONDS + _SECONDS_PER_MB * len(source) / 1e6, _MAX_SECONDS) if seconds is None else seconds
    try:
        definitions, leads = find_definitions(source, kind, deadline=time.thread_time() + allowed)
    except (TimeoutError, MemoryError):
        return Document(text, kind)
    parts = _without_scraps(source, list(_parts(source, definitions, leads)))
    return Document(text, kind, sections=tuple(_in_characters(parts, source, text)))


def _parts(source: bytes, definitions: Iterable[Definition], leads: list[Lead]) -> Iterator[_Part]:
    """Yield a part for each definition, and one for the code around it after its end."""
    stack: list[_Open] = []
    floor = 0
    yield _Part(0, ())
    for definition in definitions:
        while stack and stack[-1].definition.end <= definition.start:
            floor = _extended_end(source, stack.pop().definition.end, before=definition.start)
            yield _Part(floor, _headings(stack))
        if len(stack) == _MAX_DEPTH or (stack and _is_part_of(definition, stack[-1])):
            continue
        line_end = source.find(b"\n", definition.start) % (len(source) + 1)
        stack.append(_Open(definition, line_end, (*_headings(stack), *definition.names)))
        start = _extended_start(source, definition.start, floor, leads)
        yield _Part(start, _headings(stack))
        floor = start + 1
    while stack:
        floor = _extended_end(source, stack.pop().definition.end, before=len(source))
        yield _Part(floor, _headings(stack))


def _headings(stack: list[_Open]) -> tuple[str, ...]:
    return stack[-1].headings if stack else ()


def _is_part_of(inner: Definition, outer: _Open) -> bool:
    """Whether a definition is no section of its own: on one line with the outer one, or the same."""
    return inner.end <= outer.line_end or (inner.names == outer.definition.names and inner.start <= outer.line_end)


def _extended_end(source: bytes, end: int, *, before: int) -> int:
    """Return the end of a definition, moved behind what closes its last line unless another definition begins there."""
    rest = _REST_OF_LINE.match(source, end)
    return rest.end() if rest and rest.end() <= before else end


def _extended_start(source: bytes, start: int, floor: int, leads: list[Lead]) -> int:
    """Return the start of a definition, moved up over the comments and attributes directly above it."""
    line = _line_start(source, start, floor)
    if line is None:
        return start
    first = below = line
    indentation = _indentation(source, line)
    above = bisect_left(leads, (start,))
    for lead in reversed(leads[max(0, above - _MAX_LEADS) : above]):
        if lead.start < floor or not _touch(source, lead.end, below):
            break
        below = lead.start
        line = _line_start(source, below, floor)
        if line is not None and _indentation(source, line) == below - line == indentation:
            first = below = line
    return first


def _line_start(source: bytes, position: int, floor: int) -> int | None:
    """Return where the line begins; None if that is before `floor`."""
    newline = source.rfind(b"\n", floor, position)
    if newline >= 0:
        return newline + 1
    return floor if floor == 0 or source[floor - 1 : floor] == b"\n" else None


def _indentation(source: bytes, line: int) -> int:
    match = _INDENTATION.match(source, line)
    return match.end() - line if match else 0


def _touch(source: bytes, end: int, start: int) -> bool:
    """Whether at most one blank line lies between; some grammars include the line end in a comment."""
    if source[end - 1 : end] == b"\n":
        end -= 1
    return (
        end <= start <= end + _MAX_GAP
        and not source[end:start].strip()
        and source.count(b"\n", end, start) <= _MAX_NEWLINES
    )


def _without_scraps(source: bytes, parts: list[_Part]) -> list[_Part]:
    """Return the parts without those of closing brackets alone, and without starts of parts that merely continue."""
    result: list[_Part] = []
    for part, following in pairwise((*parts, _Part(len(source), ()))):
        is_continued = result and result[-1].headings == part.headings and not _after_blank_line(source, part.start)
        if not is_continued and not _SCRAP.fullmatch(source, part.start, following.start):
            result.append(part if result else part._replace(start=0))
    return result


def _after_blank_line(source: bytes, start: int) -> bool:
    return _BLANK_LINE.search(source, max(0, start - _MAX_GAP), start) is not None


def _in_characters(parts: list[_Part], source: bytes, text: str) -> Iterator[Section]:
    """Yield sections at character offsets; pure ASCII needs no conversion."""
    n_bytes = n_characters = 0
    for part in parts:
        n_new = part.start - n_bytes
        n_characters += n_new if len(source) == len(text) else len(source[n_bytes : part.start].decode())
        n_bytes = part.start
        yield Section(n_characters, part.headings)
