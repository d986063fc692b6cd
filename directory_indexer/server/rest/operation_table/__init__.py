"""Table of all operations of the REST API, in the order of its documentation."""

from __future__ import annotations

from directory_indexer.server.rest.operation_table.administration import (
    ADMIN_OPERATIONS,
    COLLECTION_OPERATIONS,
    PROGRESS_OPERATIONS,
    SERVICE_OPERATIONS,
)
from directory_indexer.server.rest.operation_table.documents import READ_OPERATIONS, SEND_OPERATIONS
from directory_indexer.server.rest.operation_table.page import OPERATIONS_OF_PAGE

OPERATIONS = (
    *READ_OPERATIONS,
    *SEND_OPERATIONS,
    *COLLECTION_OPERATIONS,
    *PROGRESS_OPERATIONS,
    *ADMIN_OPERATIONS,
    *SERVICE_OPERATIONS,
)
PAGE_OPERATIONS = (*OPERATIONS, *OPERATIONS_OF_PAGE)
"""The operations of a server with the page."""
