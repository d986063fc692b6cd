"""Table of the operations that send documents to collections."""

from __future__ import annotations

from directory_indexer.registry.keys import Right
from directory_indexer.server.api import (
    ingesting,
)
from directory_indexer.server.api.arguments import (
    ConvertAndIngestCall,
    FileCall,
    IngestCall,
    RefreshCall,
    SentTextCall,
    SentUrlCall,
    UrlCall,
)
from directory_indexer.server.api.catalogue.meanings import NO_DOCUMENT, NOT_FETCHED, NOT_TAKEN, TAKEN, TO_DOCUMENT
from directory_indexer.server.api.operations import (
    LONGEST_FILE,
    LONGEST_TEXTS,
    AsTool,
    Body,
    Method,
    Operation,
    patiently,
    remotely,
)
from directory_indexer.wire.team import IngestAnswer

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
        patiently(ingesting.ingest),
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
        patiently(ingesting.ingest_file),
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
        remotely(ingesting.ingest_url),
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
        remotely(ingesting.refresh),
        failures={
            **NOT_TAKEN,
            **NOT_FETCHED,
            **NO_DOCUMENT,
            409: "It was not fetched from an address, or is being deleted.",
        },
        also={202: "It is kept; Location says how far it is."},
    ),
)
