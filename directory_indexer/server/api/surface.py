"""From a path and a method to the operation that answers them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from starlette.routing import compile_path

from directory_indexer.registry.keys import Right
from directory_indexer.server.api.operations import LONGEST_BODY, Method, Operation
from directory_indexer.server.gate.visits import Place

NOWHERE = Place("other", Right.READ, LONGEST_BODY)
"""What is said of paths that stand for nothing: who has no key does not learn which those are."""


class Found(NamedTuple):
    """The operations of a path, by their methods, and what the path gives them."""

    operations: Mapping[str, Operation]
    given: Mapping[str, str]


class Surface:
    """All operations, by their paths."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        by_path: dict[str, dict[str, Operation]] = {}
        for operation in operations:
            for path in (operation.path, *operation.other_paths):
                by_path.setdefault(path, {})[operation.method] = operation
        for methods in by_path.values():
            if Method.GET in methods:
                methods["HEAD"] = methods[Method.GET]
        self._patterns = [(compile_path(path)[0], methods) for path, methods in by_path.items()]

    def find(self, path: str) -> Found | None:
        """Find what a path stands for."""
        for pattern, operations in self._patterns:
            if found := pattern.fullmatch(path):
                return Found(operations, found.groupdict())
        return None

    def place_of(self, path: str, method: str) -> Place | None:
        """Tell the gate what a request asks for; a method that there is not needs what a path there is needs."""
        found = self.find(path)
        if found is None:
            return None
        operation = found.operations.get(method)
        if operation is None:
            return NOWHERE._replace(template=next(iter(found.operations.values())).path)
        return Place(
            operation.path,
            operation.needs,
            operation.longest_body,
            is_probe=operation.is_probe,
            collection=operation.collection,
        )
