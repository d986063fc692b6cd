"""Table of the operations that search, list, read and delete documents.

Table of the operations that send documents to collections.

Descriptions of statuses, and links to other operations, that several rows of the table share.
"""

from __future__ import annotations

from directory_indexer.api.collections import IngestAnswer
from directory_indexer.api.contents import DocumentList, GrepAnswer, OutlineAnswer, TextAnswer
from directory_indexer.api.directories import DirectoryPart
from directory_indexer.api.hits import SearchAnswer
from directory_indexer.api.previews import NeighboursAnswer, PageAnswer, PreviewAnswer
from directory_indexer.server.rest import documents, ingesting, originals, previews, search
from directory_indexer.server.rest.arguments import (
    ConvertAndIngestCall,
    DirectoriesCall,
    DocumentCall,
    DocumentsCall,
    FileCall,
    GrepCall,
    IngestCall,
    NeighboursCall,
    OriginalCall,
    OutlineCall,
    PageCall,
    PreviewCall,
    RefreshCall,
    SearchCall,
    SentDocumentCall,
    SentTextCall,
    SentUrlCall,
    ShownDocumentCall,
    ShownDocumentsCall,
    SimilarCall,
    UrlCall,
)
from directory_indexer.server.rest.operations import (
    LONGEST_FILE,
    LONGEST_TEXTS,
    AsTool,
    Body,
    Method,
    Operation,
    network_handler,
    search_handler,
    worker_handler,
    write_handler,
)
from directory_indexer.storage.registry.keys import Right

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


READING = (
    Operation(
        "search",
        Method.POST,
        "/api/v1/search",
        Right.READ,
        "Search",
        "Find passages by meaning and by words, best first, in one collection or in several.",
        SearchCall,
        SearchAnswer,
        search_handler(search.search),
        failures={**NOTHING_THERE, 409: "The index was built by another model; mode keyword can be used."},
    ),
    Operation(
        "grep",
        Method.POST,
        "/api/v1/grep",
        Right.READ,
        "Find lines",
        "Find the lines that match a pattern, in files of all formats of a collection, sorted by path.",
        GrepCall,
        GrepAnswer,
        search_handler(search.grep),
        failures=NOTHING_THERE,
    ),
    Operation(
        "outline",
        Method.GET,
        "/api/v1/outline",
        Right.READ,
        "Outline a file or directory",
        "Tell what a file or a directory consists of: headings, symbols or pages, or a tree, each with its size.",
        OutlineCall,
        OutlineAnswer,
        search_handler(search.outline),
        failures=NOTHING_THERE,
    ),
    Operation(
        "listDirectories",
        Method.GET,
        "/api/v1/directories",
        Right.READ,
        "Spread over directories",
        "Tell how the index spreads over directories: size, age, and how much of each can be found by meaning.",
        DirectoriesCall,
        DirectoryPart,
        search_handler(search.describe_directories),
        failures=NOTHING_THERE,
    ),
    Operation(
        "listDocuments",
        Method.GET,
        "/api/v1/documents",
        Right.READ,
        "List files and documents",
        "List the indexed files of a collection, sorted by path, and behind them what was sent to it.",
        DocumentsCall,
        DocumentList,
        search_handler(documents.documents),
        failures=NOTHING_THERE,
        as_tools=(AsTool("list_documents", ShownDocumentsCall),),
    ),
    Operation(
        "getDocument",
        Method.GET,
        "/api/v1/documents/{doc_id}",
        Right.READ,
        "Read a file or document",
        "Give the indexed text of a file or document, whole or a range of its lines, pages or passages.",
        DocumentCall,
        TextAnswer,
        search_handler(documents.document),
        failures=NO_DOCUMENT,
        as_tools=(
            AsTool(
                "get_document",
                ShownDocumentCall,
                search_handler(documents.shown_document),
                "Read a file or document by the id that a list or a search gave, from any line on.",
            ),
        ),
    ),
    Operation(
        "previewDocument",
        Method.GET,
        "/api/v1/documents/{doc_id}/preview",
        Right.READ,
        "Look at a file or document",
        "Give the indexed text around a line as people look at it, with what a query matches and the colours of code.",
        PreviewCall,
        PreviewAnswer,
        worker_handler(previews.preview),
        failures=NO_DOCUMENT,
    ),
    Operation(
        "drawPage",
        Method.GET,
        "/api/v1/documents/{doc_id}/page",
        Right.READ,
        "Draw a page",
        "Draw a page of a PDF, or a picture, and tell where on it the words of a query stand.",
        PageCall,
        PageAnswer,
        worker_handler(previews.page),
        failures={404: "There is no such document.", 422: "It has no such page, or cannot be drawn."},
    ),
    Operation(
        "similarDocuments",
        Method.GET,
        "/api/v1/documents/{doc_id}/similar",
        Right.READ,
        "Find similar files",
        "Find the files that hold the passages nearest to those of a file or document, best first.",
        SimilarCall,
        SearchAnswer,
        search_handler(previews.similar),
        failures=NO_DOCUMENT,
    ),
    Operation(
        "listNeighbours",
        Method.GET,
        "/api/v1/documents/{doc_id}/neighbours",
        Right.READ,
        "Neighbours of a document",
        "Map the passages of other files and documents that are nearest to one in meaning.",
        NeighboursCall,
        NeighboursAnswer,
        search_handler(search.neighbours),
        failures={**NO_DOCUMENT, 409: "The index was built by another model."},
    ),
    Operation(
        "deleteDocument",
        Method.DELETE,
        "/api/v1/documents/{doc_id}",
        Right.WRITE,
        "Delete a document",
        "Delete a document that was sent, in whatever state it is. It is gone for everybody at once.",
        SentDocumentCall,
        None,
        write_handler(documents.delete),
        status=204,
        failures={**NO_DOCUMENT, 409: "It is a file of a tracked directory."},
        also={202: "It is gone for everybody, and is removed from the index when others have written."},
    ),
    Operation(
        "getOriginal",
        Method.GET,
        "/api/v1/documents/{doc_id}/original",
        Right.READ,
        "Have a document back",
        "Give a document byte for byte as it was sent.",
        OriginalCall,
        None,
        search_handler(originals.original),
        failures={**NO_DOCUMENT, 416: "No byte that is asked for is there."},
        media_type="*/*",
        also={206: "The parts that are asked for.", 304: "It has not changed."},
        from_headers={"range": "Range", "if_range": "If-Range", "if_none_match": "If-None-Match"},
        as_tools=(AsTool("get_document_original", SentDocumentCall),),
        over_http=" `Range` gives parts of it; it is always an attachment.",
    ),
)


SENDING = (
    Operation(
        "ingest",
        Method.POST,
        "/api/v1/ingest",
        Right.WRITE,
        "Send a text",
        "Keep a text in a collection and make it found; the same again replaces it.",
        IngestCall,
        IngestAnswer,
        write_handler(ingesting.ingest),
        status=201,
        failures=NOT_TAKEN,
        longest_body=LONGEST_TEXTS,
        also=TAKEN,
        lines=ingesting.ingest_lines,
        repeats_answers=True,
        links=TO_DOCUMENT,
        as_tools=(AsTool("ingest", SentTextCall),),
        over_http=" As application/x-ndjson, an object a line: each is answered by a line, as soon as it is done.",
    ),
    Operation(
        "ingestFile",
        Method.PUT,
        "/api/v1/files/{filename}",
        Right.WRITE,
        "Send a file",
        "Keep a file in a collection, byte for byte as the body is, and make it found; the same again replaces it.",
        FileCall,
        IngestAnswer,
        write_handler(ingesting.ingest_file),
        status=201,
        failures=NOT_TAKEN,
        longest_body=LONGEST_FILE,
        body=Body.BYTES,
        longest_upload=ingesting.longest_file,
        also=TAKEN,
        repeats_answers=True,
        links=TO_DOCUMENT,
    ),
    Operation(
        "ingestUrl",
        Method.POST,
        "/api/v1/ingest_url",
        Right.WRITE,
        "Send an address",
        "Fetch a document from the web, keep it in a collection and make it found; the same again replaces it.",
        UrlCall,
        IngestAnswer,
        network_handler(ingesting.ingest_url),
        status=201,
        failures={**NOT_TAKEN, **NOT_FETCHED},
        also=TAKEN,
        repeats_answers=True,
        links=TO_DOCUMENT,
        as_tools=(
            AsTool("ingest_url", SentUrlCall),
            AsTool(
                "convert_and_ingest",
                ConvertAndIngestCall,
                ingesting.convert_and_ingest,
                "Send an address, or an indexed file as Markdown, to a collection; the same again replaces it.",
            ),
        ),
        other_paths=("/api/v1/ingest-url",),
    ),
    Operation(
        "refreshDocument",
        Method.POST,
        "/api/v1/documents/{doc_id}/refresh",
        Right.WRITE,
        "Fetch a document again",
        "Fetch a document again from its address, unless nothing has changed there.",
        RefreshCall,
        IngestAnswer,
        network_handler(ingesting.refresh),
        failures={
            **NOT_TAKEN,
            **NOT_FETCHED,
            **NO_DOCUMENT,
            409: "It was not fetched from an address, or is being deleted.",
        },
        also={202: "It is kept; Location says how far it is."},
    ),
)
