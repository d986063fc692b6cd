"""Table of the operations that search, list, read, send and delete documents, with shared descriptions."""

from __future__ import annotations

from directory_indexer.api.collections import IngestAnswer
from directory_indexer.api.contents import DocumentList, GrepAnswer, OutlineAnswer, TextAnswer
from directory_indexer.api.directories import DirectoryPart
from directory_indexer.api.hits import SearchAnswer
from directory_indexer.api.operations import Pool
from directory_indexer.api.previews import NeighboursAnswer, PageAnswer, PreviewAnswer
from directory_indexer.core.rights import Right
from directory_indexer.server.mcp.arguments import GrepCall, OutlineCall, SearchCall
from directory_indexer.server.rest import arguments, documents, ingesting, originals, previews, search
from directory_indexer.server.rest.operations import (
    MAX_TEXTS_BYTES,
    MAX_UPLOAD_BYTES,
    Body,
    HttpOperation,
    ToolVariant,
)

COLLECTION_NOT_FOUND = {404: "There is no such collection."}
DOCUMENT_NOT_FOUND = {404: "There is no such document."}
OPERATION_NOT_FOUND = {404: "There is no such operation."}
NOT_INDEXED = {404: "There is no such collection, or nothing is indexed at this path."}
SUCCESSES_OF_SENDING = {
    200: "It was there already, and is replaced or the same.",
    202: "It is kept; Location says how far it is.",
}
FAILURES_OF_SENDING = {
    **COLLECTION_NOT_FOUND,
    409: "It is there already and must not be replaced, or is being deleted; or its request is still being answered.",
    413: "It is too large.",
    422: "It is empty, cannot be read, or holds a secret; or an argument is wrong.",
    507: "There is no room left on the disk.",
}
URL_NOT_FETCHED = {502: "Its server cannot be reached, or does not answer as it should."}
OPERATION_CONFLICT = {**COLLECTION_NOT_FOUND, 409: "Another administrative operation goes on: detail names it."}
ARGUMENTS_FROM_DOCUMENT = {"doc_id": "/doc_id", "collection": "/document/collection"}
LINKS_TO_DOCUMENT = {
    "getDocument": ARGUMENTS_FROM_DOCUMENT,
    "getOriginal": ARGUMENTS_FROM_DOCUMENT,
    "deleteDocument": ARGUMENTS_FROM_DOCUMENT,
}
ARGUMENTS_FROM_OPERATION = {"operation_id": "/id"}
LINKS_TO_OPERATION = {
    "getOperation": ARGUMENTS_FROM_OPERATION,
    "pauseOperation": ARGUMENTS_FROM_OPERATION,
    "resumeOperation": ARGUMENTS_FROM_OPERATION,
    "cancelOperation": ARGUMENTS_FROM_OPERATION,
}
LINKS_TO_COLLECTION = {"getCollection": {"collection": "/name"}, "deleteCollection": {"collection": "/name"}}


READ_OPERATIONS = (
    HttpOperation(
        "search",
        "Search",
        "Find passages by meaning and by words, best first, in one collection or in several.",
        SearchCall,
        SearchAnswer,
        search.search,
        Pool.SEARCH,
        route="POST /api/v1/search",
        failures={**NOT_INDEXED, 409: "The index was built by another model; mode keyword can be used."},
    ),
    HttpOperation(
        "grep",
        "Find lines",
        "Find the lines that match a pattern, in files of all formats of a collection, sorted by path.",
        GrepCall,
        GrepAnswer,
        search.grep,
        Pool.SEARCH,
        route="POST /api/v1/grep",
        failures=NOT_INDEXED,
    ),
    HttpOperation(
        "outline",
        "Outline a file or directory",
        "Tell what a file or a directory consists of: headings, symbols or pages, or a tree, each with its size.",
        OutlineCall,
        OutlineAnswer,
        search.outline,
        Pool.SEARCH,
        route="GET /api/v1/outline",
        failures=NOT_INDEXED,
    ),
    HttpOperation(
        "listDirectories",
        "Spread over directories",
        "Tell how the index spreads over directories: size, age, and how much of each can be found by meaning.",
        arguments.DirectoriesCall,
        DirectoryPart,
        search.describe_directories,
        Pool.SEARCH,
        route="GET /api/v1/directories",
        failures=NOT_INDEXED,
    ),
    HttpOperation(
        "listDocuments",
        "List files and documents",
        "List the indexed files of a collection, sorted by path, and behind them what was sent to it.",
        arguments.DocumentsCall,
        DocumentList,
        documents.documents,
        Pool.SEARCH,
        route="GET /api/v1/documents",
        failures=NOT_INDEXED,
        tools=(ToolVariant("list_documents", arguments.ShownDocumentsCall),),
    ),
    HttpOperation(
        "getDocument",
        "Read a file or document",
        "Give the indexed text of a file or document, whole or a range of its lines, pages or passages.",
        arguments.DocumentCall,
        TextAnswer,
        documents.document,
        Pool.SEARCH,
        route="GET /api/v1/documents/{doc_id}",
        failures=DOCUMENT_NOT_FOUND,
        tools=(
            ToolVariant(
                "get_document",
                arguments.ShownDocumentCall,
                documents.document_within_budget,
                Pool.SEARCH,
                description="Read a file or document by the id that a list or a search gave, from any line on.",
            ),
        ),
    ),
    HttpOperation(
        "previewDocument",
        "Look at a file or document",
        "Give the indexed text around a line as people look at it, with what a query matches and the colours of code.",
        arguments.PreviewCall,
        PreviewAnswer,
        previews.preview,
        Pool.WORKER,
        route="GET /api/v1/documents/{doc_id}/preview",
        failures=DOCUMENT_NOT_FOUND,
    ),
    HttpOperation(
        "drawPage",
        "Draw a page",
        "Draw a page of a PDF, or a picture, and tell where on it the words of a query stand.",
        arguments.PageCall,
        PageAnswer,
        previews.rendered_page,
        Pool.WORKER,
        route="GET /api/v1/documents/{doc_id}/page",
        failures={404: "There is no such document.", 422: "It has no such page, or cannot be drawn."},
    ),
    HttpOperation(
        "similarDocuments",
        "Find similar files",
        "Find the files that hold the passages nearest to those of a file or document, best first.",
        arguments.SimilarCall,
        SearchAnswer,
        previews.similar,
        Pool.SEARCH,
        route="GET /api/v1/documents/{doc_id}/similar",
        failures=DOCUMENT_NOT_FOUND,
    ),
    HttpOperation(
        "listNeighbours",
        "Neighbours of a document",
        "Map the passages of other files and documents that are nearest to one in meaning.",
        arguments.NeighboursCall,
        NeighboursAnswer,
        search.neighbours,
        Pool.SEARCH,
        route="GET /api/v1/documents/{doc_id}/neighbours",
        failures={**DOCUMENT_NOT_FOUND, 409: "The index was built by another model."},
    ),
    HttpOperation(
        "deleteDocument",
        "Delete a document",
        "Delete a document that was sent, in whatever state it is. It is gone for everybody at once.",
        arguments.SentDocumentCall,
        None,
        documents.delete,
        Pool.WRITE,
        needs=Right.WRITE,
        route="DELETE /api/v1/documents/{doc_id}",
        status=204,
        failures={**DOCUMENT_NOT_FOUND, 409: "It is a file of a tracked directory."},
        also={202: "It is gone for everybody, and is removed from the index when others have written."},
    ),
    HttpOperation(
        "getOriginal",
        "Have a document back",
        "Give a document byte for byte as it was sent.",
        arguments.OriginalCall,
        None,
        originals.original,
        Pool.SEARCH,
        route="GET /api/v1/documents/{doc_id}/original",
        failures={**DOCUMENT_NOT_FOUND, 416: "No byte that is asked for is there."},
        media_type="*/*",
        also={206: "The parts that are asked for.", 304: "It has not changed."},
        from_headers={"range": "Range", "if_range": "If-Range", "if_none_match": "If-None-Match"},
        tools=(ToolVariant("get_document_original", arguments.OriginalCall),),
        over_http=" `Range` gives parts of it; it is always an attachment.",
    ),
)


SEND_OPERATIONS = (
    HttpOperation(
        "ingest",
        "Send a text",
        "Keep a text in a collection and make it found; the same again replaces it.",
        arguments.IngestCall,
        IngestAnswer,
        ingesting.ingest,
        Pool.WRITE,
        needs=Right.WRITE,
        route="POST /api/v1/ingest",
        status=201,
        failures=FAILURES_OF_SENDING,
        longest_body=MAX_TEXTS_BYTES,
        also=SUCCESSES_OF_SENDING,
        lines=ingesting.ingest_lines,
        repeats_answers=True,
        links=LINKS_TO_DOCUMENT,
        tools=(ToolVariant("ingest", arguments.IngestCall),),
        over_http=" As application/x-ndjson, an object a line: each is answered by a line, as soon as it is done.",
    ),
    HttpOperation(
        "ingestFile",
        "Send a file",
        "Keep a file in a collection, byte for byte as the body is, and make it found; the same again replaces it.",
        arguments.FileCall,
        IngestAnswer,
        ingesting.ingest_file,
        Pool.WRITE,
        needs=Right.WRITE,
        route="PUT /api/v1/files/{filename}",
        status=201,
        failures=FAILURES_OF_SENDING,
        longest_body=MAX_UPLOAD_BYTES,
        body=Body.BYTES,
        longest_upload=ingesting.max_file_bytes,
        also=SUCCESSES_OF_SENDING,
        repeats_answers=True,
        links=LINKS_TO_DOCUMENT,
    ),
    HttpOperation(
        "ingestUrl",
        "Send an address",
        "Fetch a document from the web, keep it in a collection and make it found; the same again replaces it.",
        arguments.UrlCall,
        IngestAnswer,
        ingesting.ingest_url,
        Pool.NETWORK,
        needs=Right.WRITE,
        route="POST /api/v1/ingest_url",
        status=201,
        failures={**FAILURES_OF_SENDING, **URL_NOT_FETCHED},
        also=SUCCESSES_OF_SENDING,
        repeats_answers=True,
        links=LINKS_TO_DOCUMENT,
        tools=(
            ToolVariant("ingest_url", arguments.UrlCall),
            ToolVariant(
                "convert_and_ingest",
                arguments.ConvertAndIngestCall,
                ingesting.convert_and_ingest,
                description="Send an address, or an indexed file as Markdown, to a collection; the same again replaces "
                "it.",
            ),
        ),
        other_paths=("/api/v1/ingest-url",),
    ),
    HttpOperation(
        "refreshDocument",
        "Fetch a document again",
        "Fetch a document again from its address, unless nothing has changed there.",
        arguments.RefreshCall,
        IngestAnswer,
        ingesting.refresh,
        Pool.NETWORK,
        needs=Right.WRITE,
        route="POST /api/v1/documents/{doc_id}/refresh",
        failures={
            **FAILURES_OF_SENDING,
            **URL_NOT_FETCHED,
            **DOCUMENT_NOT_FOUND,
            409: "It was not fetched from an address, or is being deleted.",
        },
        also={202: "It is kept; Location says how far it is."},
    ),
)
