"""Operations below `/api/v1/admin`: background work on a whole index, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from directory_indexer.config.collections import DEFAULT
from directory_indexer.errors import UsageError
from directory_indexer.registry.operations import Kind
from directory_indexer.server.api.arguments import AdminCall, BackupCall
from directory_indexer.server.api.operations import Reply, Services
from directory_indexer.server.api.runs import PATH, operation_id
from directory_indexer.server.gate.problems import Problem, RefusedError
from directory_indexer.server.work import backup_place
from directory_indexer.team.administration import OccupiedError
from directory_indexer.wire.operations import administrative_entry

_STARTED = 202
OCCUPIED = Problem(409, "occupied", "another administrative operation goes on")
ONLY_SOME = Problem(403, "forbidden", "a backup holds all collections, and this key is for some of them")


def begin(kind: Kind) -> Callable[[Services, AdminCall], Reply]:
    """Return the handler that starts an operation of this kind on a collection."""

    def run(services: Services, call: AdminCall) -> Reply:
        services.collections.key(call.collection)
        return _start(services, kind, call.collection, {})

    return run


def back_up(services: Services, call: BackupCall) -> Reply:
    """Start a backup of all collections.

    Raises:
        UsageError: no backup directory is configured, or a backup of this name exists.
        RefusedError: the key does not grant access to all collections.
    """
    if services.caller is None or services.caller.collections is not None:
        raise RefusedError(ONLY_SOME)
    directory = backup_place(services.collections.loaded, call.name)
    if directory.exists():
        raise UsageError(f"there is a backup '{directory.name}' already", hint="give another name")
    return _start(services, Kind.BACKUP, "", {"name": directory.name})


def _start(services: Services, kind: Kind, collection: str, options: Mapping[str, Any]) -> Reply:
    try:
        row = services.administration.start(kind, collection, options)
    except OccupiedError as error:
        raise RefusedError(_occupied_problem(services, error)) from error
    name = operation_id(collection or DEFAULT, row.name)
    return Reply(administrative_entry(row, name=name), _STARTED, {"Location": f"{PATH}/{name}"})


def _occupied_problem(services: Services, error: OccupiedError) -> Problem:
    """Return the problem, with the operation in progress if the key may see it."""
    row = error.operation
    if row is None or services.caller is None:
        return OCCUPIED
    is_visible = services.caller.collections is None or (row.collection and services.reaches(row.collection))
    if not is_visible:
        return OCCUPIED
    return OCCUPIED._replace(detail=f"{OCCUPIED.detail}: {operation_id(row.collection or DEFAULT, row.name)}")
