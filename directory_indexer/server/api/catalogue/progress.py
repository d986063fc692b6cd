"""Table of the operations on background work."""

from __future__ import annotations

from directory_indexer.registry.keys import Right
from directory_indexer.server.api import (
    progress,
)
from directory_indexer.server.api.arguments import (
    InCollectionCall,
    IndexCall,
    NamedOperationCall,
    OperationCall,
)
from directory_indexer.server.api.catalogue.meanings import NO_COLLECTION, NO_OPERATION, TO_OPERATION
from directory_indexer.server.api.operations import (
    Method,
    Operation,
    patiently,
    quickly,
)
from directory_indexer.wire.operations import OperationEntry, OperationList

PROGRESS = (
    Operation(
        "index",
        Method.POST,
        "/api/v1/index",
        Right.WRITE,
        "Index or refresh",
        "Bring indexed directories up to date, or add one that the operator of this server allows. It goes on in the "
        "background: Location says where to ask how it stands.",
        IndexCall,
        OperationEntry,
        quickly(progress.start),
        status=202,
        failures={404: "There is no such collection; or nothing is indexed yet, and no directory is allowed."},
        links=TO_OPERATION,
    ),
    Operation(
        "listOperations",
        Method.GET,
        "/api/v1/operations",
        Right.READ,
        "List operations",
        "List what goes on in a collection, and went on lately: administrative work, ingests and index runs, whoever "
        "started them.",
        InCollectionCall,
        OperationList,
        quickly(progress.operations),
        failures=NO_COLLECTION,
    ),
    Operation(
        "getOperation",
        Method.GET,
        "/api/v1/operations/{operation_id}",
        Right.READ,
        "Look at an operation",
        "Tell how an operation stands, at once or when it has ended.",
        OperationCall,
        OperationEntry,
        progress.operation,
        failures=NO_OPERATION,
        about_all=True,
    ),
    Operation(
        "cancelOperation",
        Method.DELETE,
        "/api/v1/operations/{operation_id}",
        Right.WRITE,
        "Cancel an operation",
        "Ask an operation to stop at the end of the step in hand. What was indexed stays; a document whose ingest is "
        "cancelled is as it was before, or deleted if it is new.",
        NamedOperationCall,
        OperationEntry,
        patiently(progress.cancel),
        status=202,
        failures={**NO_OPERATION, 409: "It has ended already."},
        about_all=True,
    ),
    Operation(
        "pauseOperation",
        Method.POST,
        "/api/v1/operations/{operation_id}/pause",
        Right.WRITE,
        "Pause an operation",
        "Ask an operation to go no further, at the end of the step in hand, until it is resumed.",
        NamedOperationCall,
        OperationEntry,
        quickly(progress.pause),
        status=202,
        failures={**NO_OPERATION, 409: "It has ended already."},
        about_all=True,
    ),
    Operation(
        "resumeOperation",
        Method.POST,
        "/api/v1/operations/{operation_id}/resume",
        Right.WRITE,
        "Resume an operation",
        "Let an operation go on that was paused.",
        NamedOperationCall,
        OperationEntry,
        quickly(progress.resume),
        status=202,
        failures={**NO_OPERATION, 409: "It is not paused, or has ended."},
        about_all=True,
    ),
)
