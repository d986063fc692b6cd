"""Descriptions of statuses, and links to other operations, that several rows of the table share."""

from __future__ import annotations

NO_COLLECTION = {404: "There is no such collection."}
NO_DOCUMENT = {404: "There is no such document."}
NO_OPERATION = {404: "There is no such operation."}
NOTHING_THERE = {404: "There is no such collection, or nothing is indexed at this path."}
TAKEN = {200: "It was there already, and is replaced or the same.", 202: "It is kept; Location says how far it is."}
NOT_TAKEN = {
    **NO_COLLECTION,
    409: "It is there already and must not be replaced, or is being deleted; or its request is still being answered.",
    413: "It is too large.",
    422: "It is empty, cannot be read, or holds a secret; or an argument is wrong.",
    507: "There is no room left on the disk.",
}
NOT_FETCHED = {502: "Its server cannot be reached, or does not answer as it should."}
OCCUPIED = {**NO_COLLECTION, 409: "Another administrative operation goes on: detail names it."}
OF_DOCUMENT = {"doc_id": "/doc_id", "collection": "/document/collection"}
TO_DOCUMENT = {"getDocument": OF_DOCUMENT, "getOriginal": OF_DOCUMENT, "deleteDocument": OF_DOCUMENT}
OF_OPERATION = {"operation_id": "/id"}
TO_OPERATION = {
    "getOperation": OF_OPERATION,
    "pauseOperation": OF_OPERATION,
    "resumeOperation": OF_OPERATION,
    "cancelOperation": OF_OPERATION,
}
TO_COLLECTION = {"getCollection": {"collection": "/name"}, "deleteCollection": {"collection": "/name"}}
