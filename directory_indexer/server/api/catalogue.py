"""The table of operations: each row has all that makes one, in the order in which the documentation shows them."""

from __future__ import annotations

from directory_indexer.registry.keys import Right
from directory_indexer.server.api import documents, runs, searching, service
from directory_indexer.server.api.arguments import (
    CancelCall,
    DocumentCall,
    DocumentsCall,
    IndexCall,
    NoArguments,
    OperationCall,
    SearchCall,
)
from directory_indexer.server.api.operations import Method, Operation, at_once, quickly, slowly
from directory_indexer.server.api.pages import DOCS_PATH, OPENAPI_PATH
from directory_indexer.server.gate.metrics import CONTENT_TYPE
from directory_indexer.wire.documents import TextAnswer
from directory_indexer.wire.files import DocumentList
from directory_indexer.wire.hits import SearchAnswer
from directory_indexer.wire.runs import Run, RunList
from directory_indexer.wire.service import Health, Readiness

_NO_DOCUMENT = {404: "There is no such document."}
_NO_OPERATION = {404: "There is no such operation."}
_NOTHING_THERE = {404: "Nothing is indexed at this path."}

OPERATIONS = (
    Operation(
        "search",
        Method.POST,
        "/api/v1/search",
        Right.READ,
        "Search",
        "Find passages by meaning and by words, best first.",
        SearchCall,
        SearchAnswer,
        slowly(searching.search),
        failures={**_NOTHING_THERE, 409: "The index was built by another model; mode keyword can be used."},
    ),
    Operation(
        "listDocuments",
        Method.GET,
        "/api/v1/documents",
        Right.READ,
        "List files",
        "List the indexed files, sorted by path.",
        DocumentsCall,
        DocumentList,
        slowly(documents.documents),
        failures=_NOTHING_THERE,
    ),
    Operation(
        "getDocument",
        Method.GET,
        "/api/v1/documents/{doc_id}",
        Right.READ,
        "Read a file",
        "Give the indexed text of a file, whole or a range of its lines, pages or passages.",
        DocumentCall,
        TextAnswer,
        slowly(documents.document),
        failures=_NO_DOCUMENT,
    ),
    Operation(
        "index",
        Method.POST,
        "/api/v1/index",
        Right.WRITE,
        "Index or refresh",
        "Bring indexed directories up to date, or add one that the operator of this server allows. It goes on in the "
        "background: Location says where to ask how it stands.",
        IndexCall,
        Run,
        quickly(runs.start),
        status=202,
        failures={404: "Nothing is indexed yet, and no directory is allowed."},
    ),
    Operation(
        "listOperations",
        Method.GET,
        "/api/v1/operations",
        Right.READ,
        "List operations",
        "List the newest index runs, whoever started them.",
        NoArguments,
        RunList,
        quickly(runs.operations),
    ),
    Operation(
        "getOperation",
        Method.GET,
        "/api/v1/operations/{operation_id}",
        Right.READ,
        "Look at an operation",
        "Tell how an operation stands, at once or when it has ended.",
        OperationCall,
        Run,
        runs.operation,
        failures=_NO_OPERATION,
    ),
    Operation(
        "cancelOperation",
        Method.DELETE,
        "/api/v1/operations/{operation_id}",
        Right.WRITE,
        "Cancel an operation",
        "Ask an operation to stop at the end of the batch in hand. What was indexed stays.",
        CancelCall,
        Run,
        quickly(runs.cancel),
        status=202,
        failures={**_NO_OPERATION, 409: "It has ended already."},
    ),
    Operation(
        "health",
        Method.GET,
        "/health",
        None,
        "Health",
        "Say that the server is there.",
        NoArguments,
        Health,
        at_once(service.health),
        is_probe=True,
    ),
    Operation(
        "live",
        Method.GET,
        "/livez",
        None,
        "Liveness",
        "Say that the server is there; for probes that start it again if not.",
        NoArguments,
        Health,
        at_once(service.health),
        is_probe=True,
    ),
    Operation(
        "ready",
        Method.GET,
        "/readyz",
        None,
        "Readiness",
        "Say whether questions are answered as they should be. The first who asks has the model loaded.",
        NoArguments,
        Readiness,
        service.ready,
        failures={503: "Not yet, or not any more; see Retry-After."},
        is_probe=True,
    ),
    Operation(
        "metrics",
        Method.GET,
        "/metrics",
        Right.METRICS,
        "Metrics",
        "What requests came to, as Prometheus reads it.",
        NoArguments,
        None,
        at_once(service.metrics),
        media_type=CONTENT_TYPE,
    ),
    Operation(
        "openapi",
        Method.GET,
        OPENAPI_PATH,
        None,
        "OpenAPI",
        "This API for programs.",
        NoArguments,
        None,
        quickly(service.page(OPENAPI_PATH)),
    ),
    Operation(
        "docs",
        Method.GET,
        DOCS_PATH,
        None,
        "Documentation",
        "This API for people.",
        NoArguments,
        None,
        quickly(service.page(DOCS_PATH)),
        media_type="text/html; charset=utf-8",
    ),
)
