"""Table of the operations on collections."""

from __future__ import annotations

from directory_indexer.registry.keys import Right
from directory_indexer.server.api import (
    collections,
)
from directory_indexer.server.api.arguments import (
    CollectionCall,
    DescribeCall,
    NoArguments,
)
from directory_indexer.server.api.catalogue.meanings import NO_COLLECTION, TO_COLLECTION
from directory_indexer.server.api.operations import (
    AsTool,
    Method,
    Operation,
    patiently,
    slowly,
)
from directory_indexer.wire.team import CollectionEntry, CollectionsAnswer

COLLECTIONS = (
    Operation(
        "listCollections",
        Method.GET,
        "/api/v1/collections",
        Right.READ,
        "List collections",
        "List the collections that the key is for.",
        NoArguments,
        CollectionsAnswer,
        slowly(collections.collections),
        about_all=True,
        as_tools=(AsTool("list_collections", NoArguments),),
    ),
    Operation(
        "getCollection",
        Method.GET,
        "/api/v1/collections/{collection}",
        Right.READ,
        "Look at a collection",
        "Tell how a collection stands.",
        CollectionCall,
        CollectionEntry,
        slowly(collections.collection),
        failures=NO_COLLECTION,
    ),
    Operation(
        "putCollection",
        Method.PUT,
        "/api/v1/collections/{collection}",
        Right.ADMIN,
        "Make or describe a collection",
        "Make a collection, or say what one is for that there is.",
        DescribeCall,
        CollectionEntry,
        slowly(collections.put_collection),
        status=201,
        failures={**NO_COLLECTION, 409: "It is being deleted."},
        also={200: "It was there already."},
        links=TO_COLLECTION,
    ),
    Operation(
        "deleteCollection",
        Method.DELETE,
        "/api/v1/collections/{collection}",
        Right.ADMIN,
        "Delete a collection",
        "Delete a collection with all that is in it. It is gone for everybody at once.",
        CollectionCall,
        None,
        patiently(collections.delete_collection),
        status=204,
        failures=NO_COLLECTION,
        also={202: "It is gone for everybody, and is removed from the disk when nobody writes to it any more."},
    ),
)
