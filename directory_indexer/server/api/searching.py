"""Searches, lines that match, and outlines.

Hits are given as `--json` gives them, and as systems name them that only know text, score and metadata.
"""

from __future__ import annotations

import os

from directory_indexer.config.collections import DEFAULT
from directory_indexer.errors import UsageError
from directory_indexer.matching.patterns import PatternOptions
from directory_indexer.render.outlines import outline_within
from directory_indexer.searching.answers import Hit, sorted_by
from directory_indexer.searching.grep import GrepRequest
from directory_indexer.server.api.operations import Services
from directory_indexer.server.api.search_arguments import DEFAULT_HITS, GrepCall, OutlineCall, SearchCall
from directory_indexer.server.arguments import SearchArguments
from directory_indexer.server.lines import MOST_MARKS, first_lines
from directory_indexer.server.outlines import outline_named
from directory_indexer.server.questions import as_it_is, collections_named, look_at
from directory_indexer.wire.grep import GrepAnswer
from directory_indexer.wire.hits import Passage, PlainHit, SearchAnswer, page_range, passage_of, search_answer
from directory_indexer.wire.outlines import OutlineAnswer, outline_answer


def search(services: Services, call: SearchCall) -> SearchAnswer:
    """Find passages, or count the files to find them in.

    Raises:
        UsageError: `limit` and `top_k` say two things.
    """
    tools = services.desk.tools
    asked = _asked(call)
    if call.facets:
        return tools.facets(asked)
    result, page = tools.find(asked, look=look_at if call.refresh else as_it_is)
    cursor = page.position.cursor_after(result.hits, state=result.state) if result.is_truncated else None
    passages = tuple(_passage(services, hit, call) for hit in sorted_by(call.sort, result).hits)
    answer = search_answer(result, index=page.index, hits=passages, next_cursor=cursor)
    return answer._replace(results=tuple(map(_plain, passages)))


def grep(services: Services, call: GrepCall) -> GrepAnswer:
    """Find the lines that match a pattern."""
    pattern = PatternOptions((call.pattern,), are_texts=call.fixed, ignore_case=call.ignore_case)
    with services.collections.using(call.collection) as opened:
        scope, notes = look_at(opened, call.path)
        request = GrepRequest(
            pattern,
            scope,
            call.types,
            call.globs,
            before=call.context,
            after=call.context,
            most_spans=MOST_MARKS,
        )
        with opened.app.docstore.snapshot() as snapshot:
            return first_lines(snapshot, request, notes, limit=call.limit)


def outline(services: Services, call: OutlineCall) -> OutlineAnswer:
    """Tell what a file or a directory consists of, folded until it has room."""
    with services.collections.using(call.collection) as opened, opened.app.docstore.snapshot() as snapshot:
        return outline_answer(outline_within(outline_named(snapshot, call.path), max_tokens=call.max_tokens))


def _asked(call: SearchCall) -> SearchArguments:
    if call.limit and call.top_k and call.limit != call.top_k:
        raise UsageError(f"limit is {call.limit} and top_k is {call.top_k}", hint="they are one: give either")
    if call.collections and call.collection not in {DEFAULT, *call.collections}:
        raise UsageError("collection and collections say two things", hint="give either")
    shared = {name: value for name, value in call._asdict().items() if name in SearchArguments._fields}
    limit = call.limit or call.top_k or DEFAULT_HITS
    return SearchArguments(**{**shared, "limit": limit, "collections": collections_named(call)})


def _passage(services: Services, hit: Hit, call: SearchCall) -> Passage:
    passage = passage_of(hit, full=call.full, explain=call.explain)
    if hit.sent:
        return passage
    doc_id = services.document_ids.of(hit.collection or DEFAULT, hit.path)
    return passage._replace(doc_id=doc_id, filename=os.path.basename(hit.path))


def _plain(passage: Passage) -> PlainHit:
    facts = {
        "doc_id": passage.doc_id,
        "filename": passage.filename,
        "path": passage.path,
        "kind": passage.kind,
        "title": passage.title,
        "page": passage.page,
        "pages": page_range(None, passage.pages) or None,
        "start_line": passage.start_line,
        "end_line": passage.end_line,
    }
    known = {name: str(value) for name, value in facts.items() if value is not None}
    return PlainHit(passage.text or passage.excerpt, passage.score, known)
