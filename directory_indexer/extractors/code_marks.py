"""Definitions in source code, found by tree-sitter queries."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import time
from collections.abc import Callable
from functools import cache
from itertools import count
from types import ModuleType
from typing import NamedTuple, cast

from tree_sitter import Language, Node, Parser, Point, Query, QueryCursor

from directory_indexer.extractors.grammars import GRAMMARS

_MAX_NAME = 100
_MAX_RUBBLE = 10_000
_NODES_A_LOOK = 64
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


def marks_in(source: bytes, kind: str, *, deadline: float) -> tuple[list[Definition], list[Lead]]:
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

    def is_late(*_: object) -> bool:
        return time.thread_time() > deadline

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
