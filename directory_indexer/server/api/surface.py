"""Routing of paths and methods to operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from starlette.routing import compile_path

from directory_indexer.registry.keys import Right
from directory_indexer.server.api.operations import LONGEST_BODY, Method, Operation
from directory_indexer.server.gate.visits import Place

NOWHERE = Place("other", Right.READ, LONGEST_BODY)
"""The route of unknown paths: it needs a key, so that callers without one cannot probe for paths."""


class Found(NamedTuple):
    """The operations of a path by method, and the arguments in the path."""

    operations: Mapping[str, Operation]
    path_arguments: Mapping[str, str]


class Surface:
    """The router of all operations."""

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
        """Return the operations of a path; None for an unknown path."""
        for pattern, operations in self._patterns:
            if match := pattern.fullmatch(path):
                return Found(operations, match.groupdict())
        return None

    def route_of(self, path: str, method: str) -> Place | None:
        """Return the route of a request for the guard; an unsupported method of a known path needs a key."""
        match = self.find(path)
        if match is None:
            return None
        operation = match.operations.get(method)
        if operation is None:
            return NOWHERE._replace(template=next(iter(match.operations.values())).path)
        return Place(
            operation.path,
            operation.needs,
            operation.longest_body,
            is_probe=operation.is_probe,
            collection=operation.collection,
        )
