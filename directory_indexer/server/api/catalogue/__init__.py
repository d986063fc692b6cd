"""Table of the operations, in the order of the documentation."""

from __future__ import annotations

from directory_indexer.server.api.catalogue.administration import ADMINISTRATION
from directory_indexer.server.api.catalogue.collections import COLLECTIONS
from directory_indexer.server.api.catalogue.page import PAGE
from directory_indexer.server.api.catalogue.progress import PROGRESS
from directory_indexer.server.api.catalogue.reading import READING
from directory_indexer.server.api.catalogue.sending import SENDING
from directory_indexer.server.api.catalogue.service import SERVICE

OPERATIONS = (*READING, *SENDING, *COLLECTIONS, *PROGRESS, *ADMINISTRATION, *SERVICE)
PAGE_OPERATIONS = (*OPERATIONS, *PAGE)
"""The operations of a server with the page."""
