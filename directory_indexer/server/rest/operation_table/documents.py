"""Table of the operations that search, list, read, send and delete documents, with shared descriptions."""

from __future__ import annotations

from directory_indexer.api.collections import IngestAnswer
from directory_indexer.api.contents import DocumentList, GrepAnswer, OutlineAnswer, TextAnswer
from directory_indexer.api.directories import DirectoryTree, NeighboursAnswer, PageAnswer, PreviewAnswer
from directory_indexer.api.hits import SearchAnswer
from directory_indexer.api.operations import Pool
from directory_indexer.core.rights import Right
from directory_indexer.server.mcp.arguments import GrepCall, OutlineCall, SearchCall
from directory_indexer.server.rest import (
    MAX_TEXTS_BYTES,
    MAX_UPLOAD_BYTES,
    Body,
    HttpOperation,
    ToolVariant,
    arguments,
    documents,
    ingesting,
    previews,
    search,
)

COLLECTION_NOT_FOUND = {404: "There is no such collection."}
DOCUMENT_NOT_FOUND = {404: "There is no such document."}
OPERATION_NOT_FOUND = {404: "There is no such operation."}
NOT_INDEXED = {404: "There is no such collection, or nothing is indexed at this path."}
SUCCESSES_OF_SENDING = {
    200: "It existed already, and is replaced or unchanged.",
    202: "It is stored; poll the URL in Location for its progress.",
}
FAILURES_OF_SENDING = {
    **COLLECTION_NOT_FOUND,
    409: "It exists and must not be replaced, or is being deleted; or the same request is still in progress.",
    413: "It is too large.",
    422: "It is empty, cannot be read or contains a secret; or an argument is invalid.",
    507: "The disk is full.",
}
URL_NOT_FETCHED = {502: "Its server cannot be reached, or answers with an error."}
OPERATION_CONFLICT = {**COLLECTION_NOT_FOUND, 409: "Another administrative operation is in progress; detail names it."}
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
        "Return the outline of a file (headings, symbols or pages) or of a directory, with the size of each entry.",
        OutlineCall,
        OutlineAnswer,
        search.outline,
        Pool.SEARCH,
        route="GET /api/v1/outline",
        failures=NOT_INDEXED,
    ),
    HttpOperation(
        "listDirectories",
        "Directory breakdown",
        "Return the size, age and embedding coverage of each directory.",
        arguments.DirectoriesCall,
        DirectoryTree,
        search.describe_directories,
        Pool.SEARCH,
        route="GET /api/v1/directories",
        failures=NOT_INDEXED,
    ),
    HttpOperation(
        "listDocuments",
        "List files and documents",
        "List the indexed files of a collection, sorted by path, followed by the documents that were sent to it.",
        arguments.DocumentsCall,
        DocumentList,
        documents.documents,
        Pool.SEARCH,
        route="GET /api/v1/documents",
        failures=NOT_INDEXED,
        tools=(ToolVariant("list_documents", arguments.DocumentsToolCall),),
    ),
    HttpOperation(
        "getDocument",
        "Read a file or document",
        "Return the indexed text of a file or document, whole or a range of lines, pages or passages.",
        arguments.DocumentCall,
        TextAnswer,
        documents.document,
        Pool.SEARCH,
        route="GET /api/v1/documents/{doc_id}",
        failures=DOCUMENT_NOT_FOUND,
        tools=(
            ToolVariant(
                "get_document",
                arguments.DocumentToolCall,
                documents.document_within_budget,
                Pool.SEARCH,
                description="Read a file or document by its id from a list or search, starting at any line.",
            ),
        ),
    ),
    HttpOperation(
        "previewDocument",
        "Preview a file or document",
        "Return the indexed text around a line for display, with the matches of a query and highlighted code.",
        arguments.PreviewCall,
        PreviewAnswer,
        previews.preview,
        Pool.WORKER,
        route="GET /api/v1/documents/{doc_id}/preview",
        failures=DOCUMENT_NOT_FOUND,
    ),
    HttpOperation(
        "drawPage",
        "Render a page",
        "Render a page of a PDF, or a picture, with the positions of the words of a query.",
        arguments.PageCall,
        PageAnswer,
        previews.rendered_page,
        Pool.WORKER,
        route="GET /api/v1/documents/{doc_id}/page",
        failures={404: "There is no such document.", 422: "It has no such page, or cannot be rendered."},
    ),
    HttpOperation(
        "similarDocuments",
        "Find similar files",
        "Find the files with the passages most similar to those of a file or document, best first.",
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
        "Map the passages of other files and documents that are nearest in meaning to a document.",
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
        "Delete a document that was sent, in any state. It disappears for everyone at once.",
        arguments.SentDocumentCall,
        None,
        documents.delete,
        Pool.WRITE,
        required_right=Right.WRITE,
        route="DELETE /api/v1/documents/{doc_id}",
        status=204,
        failures={**DOCUMENT_NOT_FOUND, 409: "It is a file of a tracked directory."},
        other_successes={
            202: "It has disappeared for everyone, and is removed from the index when other writers have finished."
        },
    ),
    HttpOperation(
        "getOriginal",
        "Download a document",
        "Return a document byte for byte as it was sent.",
        arguments.OriginalCall,
        None,
        documents.original,
        Pool.SEARCH,
        route="GET /api/v1/documents/{doc_id}/original",
        failures={**DOCUMENT_NOT_FOUND, 416: "The requested range is outside the document."},
        media_type="*/*",
        other_successes={206: "The requested ranges.", 304: "It has not changed."},
        header_arguments={"range": "Range", "if_range": "If-Range", "if_none_match": "If-None-Match"},
        tools=(ToolVariant("get_document_original", arguments.OriginalCall),),
        http_note=" `Range` requests parts of it. It is always an attachment.",
    ),
)


SEND_OPERATIONS = (
    HttpOperation(
        "ingest",
        "Send a text",
        "Store a text in a collection and index it; sending the same id again replaces it.",
        arguments.IngestCall,
        IngestAnswer,
        ingesting.ingest,
        Pool.WRITE,
        required_right=Right.WRITE,
        route="POST /api/v1/ingest",
        status=201,
        failures=FAILURES_OF_SENDING,
        max_body_bytes=MAX_TEXTS_BYTES,
        other_successes=SUCCESSES_OF_SENDING,
        run_json_lines=ingesting.ingest_lines,
        supports_idempotency=True,
        links=LINKS_TO_DOCUMENT,
        tools=(ToolVariant("ingest", arguments.IngestCall),),
        http_note=" As application/x-ndjson, one object per line: each is answered by one line as soon as it is done.",
    ),
    HttpOperation(
        "ingestFile",
        "Send a file",
        "Store the body as a file in a collection and index it; sending the same id again replaces it.",
        arguments.FileCall,
        IngestAnswer,
        ingesting.ingest_file,
        Pool.WRITE,
        required_right=Right.WRITE,
        route="PUT /api/v1/files/{filename}",
        status=201,
        failures=FAILURES_OF_SENDING,
        max_body_bytes=MAX_UPLOAD_BYTES,
        body=Body.BYTES,
        max_upload_bytes=ingesting.max_upload_size,
        other_successes=SUCCESSES_OF_SENDING,
        supports_idempotency=True,
        links=LINKS_TO_DOCUMENT,
    ),
    HttpOperation(
        "ingestUrl",
        "Send a URL",
        "Fetch a document from the web, store it in a collection and index it; the same id again replaces it.",
        arguments.UrlCall,
        IngestAnswer,
        ingesting.ingest_url,
        Pool.NETWORK,
        required_right=Right.WRITE,
        route="POST /api/v1/ingest_url",
        status=201,
        failures={**FAILURES_OF_SENDING, **URL_NOT_FETCHED},
        other_successes=SUCCESSES_OF_SENDING,
        supports_idempotency=True,
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
        path_aliases=("/api/v1/ingest-url",),
    ),
    HttpOperation(
        "refreshDocument",
        "Fetch a document again",
        "Fetch a document from its URL again, unless it has not changed there.",
        arguments.RefreshCall,
        IngestAnswer,
        ingesting.refresh,
        Pool.NETWORK,
        required_right=Right.WRITE,
        route="POST /api/v1/documents/{doc_id}/refresh",
        failures={
            **FAILURES_OF_SENDING,
            **URL_NOT_FETCHED,
            **DOCUMENT_NOT_FOUND,
            409: "It was not fetched from an address, or is being deleted.",
        },
        other_successes={202: "It is stored; poll the URL in Location for its progress."},
    ),
)
