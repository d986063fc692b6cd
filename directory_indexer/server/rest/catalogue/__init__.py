"""Table of the operations, in the order of the documentation."""

from __future__ import annotations

from directory_indexer.server.rest.catalogue.administration import ADMINISTRATION, COLLECTIONS, PROGRESS, SERVICE
from directory_indexer.server.rest.catalogue.documents import READING, SENDING
from directory_indexer.server.rest.catalogue.page import PAGE

OPERATIONS = (*READING, *SENDING, *COLLECTIONS, *PROGRESS, *ADMINISTRATION, *SERVICE)
PAGE_OPERATIONS = (*OPERATIONS, *PAGE)
"""The operations of a server with the page."""
