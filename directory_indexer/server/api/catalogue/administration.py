"""Table of the administrative operations."""

from __future__ import annotations

from directory_indexer.registry.keys import Right
from directory_indexer.registry.operations import Kind
from directory_indexer.server.api import (
    administering,
)
from directory_indexer.server.api.arguments import (
    AdminCall,
    BackupCall,
)
from directory_indexer.server.api.catalogue.meanings import OCCUPIED, TO_OPERATION
from directory_indexer.server.api.operations import (
    Method,
    Operation,
    quickly,
)
from directory_indexer.wire.operations import OperationEntry

ADMINISTRATION = (
    Operation(
        "optimize",
        Method.POST,
        "/api/v1/admin/optimize",
        Right.ADMIN,
        "Optimise a collection",
        "Check the index of a collection, mend what can be mended, and write it anew without gaps.",
        AdminCall,
        OperationEntry,
        quickly(administering.begin(Kind.OPTIMIZE)),
        status=202,
        failures=OCCUPIED,
        links=TO_OPERATION,
    ),
    Operation(
        "rebuild",
        Method.POST,
        "/api/v1/admin/rebuild",
        Right.ADMIN,
        "Read everything again",
        "Read all files and documents of a collection again, changed or not.",
        AdminCall,
        OperationEntry,
        quickly(administering.begin(Kind.REBUILD)),
        status=202,
        failures=OCCUPIED,
        links=TO_OPERATION,
    ),
    Operation(
        "backup",
        Method.POST,
        "/api/v1/admin/backup",
        Right.ADMIN,
        "Make a backup",
        "Write a backup of all collections into the directory that the operator of this server names.",
        BackupCall,
        OperationEntry,
        quickly(administering.back_up),
        status=202,
        failures=OCCUPIED,
        links=TO_OPERATION,
        about_all=True,
    ),
    Operation(
        "purge",
        Method.POST,
        "/api/v1/admin/purge",
        Right.ADMIN,
        "Purge a collection",
        "Remove for good what was deleted from a collection, so that nothing of it stays on the disk; and forget what "
        "is kept of requests and operations that have ended.",
        AdminCall,
        OperationEntry,
        quickly(administering.begin(Kind.PURGE)),
        status=202,
        failures=OCCUPIED,
        links=TO_OPERATION,
    ),
)
