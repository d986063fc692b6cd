"""Operations that search: passages, matching lines and outlines.

Hits have the form of `--json`, and additionally a plain form with text, score and metadata.
"""

from __future__ import annotations

import os

from directory_indexer.config.collections import DEFAULT
from directory_indexer.matching.patterns import PatternOptions
from directory_indexer.render.outlines import outline_within
from directory_indexer.searching.answers import Hit, sorted_by
from directory_indexer.searching.grep import GrepRequest
from directory_indexer.server.api.operations import Services
from directory_indexer.server.api.search_arguments import GrepCall, OutlineCall, SearchCall
from directory_indexer.server.arguments import SearchArguments
from directory_indexer.server.lines import MOST_MARKS, first_lines
from directory_indexer.server.outlines import outline_named
from directory_indexer.server.questions import as_it_is, collections_named, look_at
from directory_indexer.wire.grep import GrepAnswer
from directory_indexer.wire.hits import Passage, SearchAnswer, passage_of, plain_hits, search_answer
from directory_indexer.wire.outlines import OutlineAnswer, outline_answer


def search(services: Services, call: SearchCall) -> SearchAnswer:
    """Find passages, or return facet counts."""
    tools = services.desk.tools
    names = collections_named(call)
    shared = {name: value for name, value in call._asdict().items() if name in SearchArguments._fields}
    arguments = SearchArguments(**shared)
    if call.facets:
        return tools.facets(arguments)
    look = look_at if call.refresh else as_it_is
    result, page = tools.find(arguments, look=look, is_unfinished=call.prefix)
    cursor = page.position.cursor_after(result.hits, state=result.state) if result.is_truncated else None
    passages = tuple(_passage(services, hit, call) for hit in sorted_by(call.sort, result).hits)
    answer = search_answer(result, index=page.index, hits=passages, next_cursor=cursor)
    return answer._replace(results=plain_hits(passages), collection=names[0] if len(names) == 1 else None)


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
            return first_lines(snapshot, request, tuple(map(str, notes)), limit=call.limit)


def outline(services: Services, call: OutlineCall) -> OutlineAnswer:
    """Return the outline of a file or a directory, folded to the token budget."""
    with services.collections.using(call.collection) as opened, opened.app.docstore.snapshot() as snapshot:
        return outline_answer(outline_within(outline_named(snapshot, call.path), max_tokens=call.max_tokens))


def _passage(services: Services, hit: Hit, call: SearchCall) -> Passage:
    passage = passage_of(hit, full=call.full, explain=call.explain)
    if hit.sent or not hit.is_passage:
        return passage
    doc_id = services.document_ids.of(hit.collection or DEFAULT, hit.path)
    return passage._replace(doc_id=doc_id, filename=os.path.basename(hit.path))
