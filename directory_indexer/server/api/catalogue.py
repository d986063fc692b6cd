"""The table of operations: each row has all that makes one, in the order in which the documentation shows them."""

from __future__ import annotations

from directory_indexer.registry.keys import Right
from directory_indexer.server.api.arguments import SearchCall
from directory_indexer.server.api.operations import Method, Operation, slowly
from directory_indexer.server.api.searching import search
from directory_indexer.wire.hits import SearchAnswer

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
        slowly(search),
        failures={404: "Nothing is indexed at this path.", 409: "The index was built by another model."},
    ),
)
