"""What is found, listed, read and deleted."""

from __future__ import annotations

from directory_indexer.registry.keys import Right
from directory_indexer.server.api import (
    documents,
    drawn_pages,
    originals,
    previews,
    searching,
)
from directory_indexer.server.api.arguments import (
    DocumentCall,
    DocumentsCall,
    OriginalCall,
    PageCall,
    PreviewCall,
    SentDocumentCall,
    SimilarCall,
)
from directory_indexer.server.api.catalogue.meanings import NO_DOCUMENT, NOTHING_THERE
from directory_indexer.server.api.operations import (
    Method,
    Operation,
    elsewhere,
    patiently,
    slowly,
)
from directory_indexer.server.api.search_arguments import GrepCall, OutlineCall, SearchCall
from directory_indexer.wire.documents import TextAnswer
from directory_indexer.wire.files import DocumentList
from directory_indexer.wire.grep import GrepAnswer
from directory_indexer.wire.hits import SearchAnswer
from directory_indexer.wire.outlines import OutlineAnswer
from directory_indexer.wire.previews import PageAnswer, PreviewAnswer

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
        slowly(searching.search),
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
        slowly(searching.grep),
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
        slowly(searching.outline),
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
        slowly(documents.documents),
        failures=NOTHING_THERE,
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
        slowly(documents.document),
        failures=NO_DOCUMENT,
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
        elsewhere(previews.preview),
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
        elsewhere(drawn_pages.page),
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
        slowly(previews.similar),
        failures=NO_DOCUMENT,
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
        patiently(documents.delete),
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
        "Give a document byte for byte as it was sent, or parts of it; always as an attachment.",
        OriginalCall,
        None,
        slowly(originals.original),
        failures={**NO_DOCUMENT, 416: "No byte that is asked for is there."},
        media_type="*/*",
        also={206: "The parts that are asked for.", 304: "It has not changed."},
        from_headers={"range": "Range", "if_range": "If-Range", "if_none_match": "If-None-Match"},
    ),
)
