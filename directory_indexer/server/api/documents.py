"""`/api/v1/documents`: the files of the index, page by page, and the text of one."""

from __future__ import annotations

import base64
import os
from collections import OrderedDict
from itertools import islice

from directory_indexer.docstore.filters import FileFilter
from directory_indexer.errors import NotIndexedError, UsageError
from directory_indexer.ids import document_id
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.searching.texts import Selection, Unit, read_text
from directory_indexer.server.api.arguments import DocumentCall, DocumentsCall
from directory_indexer.server.api.operations import Services
from directory_indexer.server.places import scope_of
from directory_indexer.wire.documents import TextAnswer, text_answer
from directory_indexer.wire.files import DocumentList, document_facts

with lazily:
    from directory_indexer.docstore.store import Snapshot


_END = 2**31
_MOST_RECENT = 10_000


class DocumentIds:
    """Which path an id stands for: a hash cannot be turned round, so those that were given out lately are kept.

    Others are looked for among all files, at two microseconds each.
    """

    def __init__(self) -> None:
        self._recent: OrderedDict[str, FilePath] = OrderedDict()

    def of(self, path: FilePath) -> str:
        """Give the id of a path."""
        doc_id = document_id(path)
        self._recent[doc_id] = path
        self._recent.move_to_end(doc_id)
        while len(self._recent) > _MOST_RECENT:
            self._recent.popitem(last=False)
        return doc_id

    def path(self, snapshot: Snapshot, doc_id: str) -> FilePath:
        """Find the indexed file of an id.

        Raises:
            NotIndexedError: there is none.
        """
        recent = self._recent.get(doc_id)
        found = recent or next((path for path in snapshot.files.paths() if document_id(path) == doc_id), None)
        if found is None:
            raise NotIndexedError(f"there is no document '{doc_id}'")
        return found


def documents(services: Services, call: DocumentsCall) -> DocumentList:
    """List the files with text, sorted by path."""
    with services.app.docstore.snapshot() as snapshot:
        wanted = FileFilter(within=scope_of(snapshot, call.path))
        files = list(islice(snapshot.files.in_order(wanted, after=_path_in(call.cursor)), call.limit + 1))
    shown = files[: call.limit]
    for file in shown:
        services.document_ids.of(file.path)
    cursor = _cursor_after(shown[-1].path) if len(files) > len(shown) else None
    return DocumentList(tuple(map(document_facts, shown)), cursor)


def document(services: Services, call: DocumentCall) -> TextAnswer:
    """Give the indexed text of a file, or a part of it.

    Raises:
        UsageError: several kinds of parts are asked for, or one that there is not.
    """
    selection = _selection(call)
    with services.app.docstore.snapshot() as snapshot:
        path = services.document_ids.path(snapshot, call.doc_id)
        text = read_text(snapshot, path, selection)
    return text_answer(text)._replace(doc_id=call.doc_id, filename=os.path.basename(path))


def _selection(call: DocumentCall) -> Selection | None:
    units = ((Unit.LINES, call.lines), (Unit.PAGES, call.pages), (Unit.CHUNKS, call.chunks))
    given = [(unit, text) for unit, text in units if text]
    if len(given) > 1:
        raise UsageError("give one of lines, pages and chunks")
    if not given:
        return None
    unit, text = given[0]
    first, dash, last = text.partition("-")
    return Selection(unit, int(first), int(last) if last else _END if dash else int(first))


def _cursor_after(path: FilePath) -> str:
    return base64.urlsafe_b64encode(path.encode()).decode()


def _path_in(cursor: str) -> FilePath:
    try:
        return FilePath(base64.b64decode(cursor, altchars=b"-_", validate=True).decode())
    except ValueError as error:
        raise UsageError("the cursor is not one that a list gave", hint="repeat without cursor") from error
