"""`/api/v1/search`: hits as `--json` gives them, and as systems name them that only know text, score and metadata."""

from __future__ import annotations

import os

from directory_indexer.config.collections import DEFAULT
from directory_indexer.errors import UsageError
from directory_indexer.searching.answers import Hit, sorted_by
from directory_indexer.server.api.arguments import DEFAULT_HITS, SearchCall
from directory_indexer.server.api.operations import Services
from directory_indexer.server.arguments import SearchArguments
from directory_indexer.server.questions import collections_named
from directory_indexer.wire.hits import Passage, PlainHit, SearchAnswer, page_range, passage_of, search_answer


def search(services: Services, call: SearchCall) -> SearchAnswer:
    """Find passages, or count the files to find them in.

    Raises:
        UsageError: `limit` and `top_k` say two things.
    """
    tools = services.desk.tools
    asked = _asked(call)
    if call.facets:
        return tools.facets(asked)
    result, page = tools.find(asked)
    cursor = page.position.cursor_after(result.hits, state=result.state) if result.is_truncated else None
    passages = tuple(_passage(services, hit, call) for hit in sorted_by(call.sort, result).hits)
    answer = search_answer(result, index=page.index, hits=passages, next_cursor=cursor)
    return answer._replace(results=tuple(map(_plain, passages)))


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
