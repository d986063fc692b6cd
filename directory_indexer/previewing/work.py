"""Work of the preview workers, in which all untrusted content is parsed."""

from __future__ import annotations

from functools import singledispatch

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.lazy import lazily
from directory_indexer.parsing.one_file import where
from directory_indexer.parsing.tasks import WorkerFailure
from directory_indexer.previewing.requests import ColourRequest, Colours, MarkdownRequest, ScreenRequest, TableRequest

with lazily:
    from directory_indexer.previewing.colours import colours_of
    from directory_indexer.previewing.markdown import tree_of
    from directory_indexer.previewing.screen import screen_page
    from directory_indexer.previewing.tables import rows_of


def answer(request: object) -> object:
    """Return the answer to a request, or a failure with its reason."""
    try:
        return _answer(request)
    except (SkipFileError, ExtractionError) as error:
        return WorkerFailure(error.message)
    except OSError as error:
        return WorkerFailure((error.strerror or type(error).__name__).lower())
    except Exception as error:  # noqa: BLE001 - whatever a parser does over one document
        return WorkerFailure(where(error))


@singledispatch
def _answer(request: object) -> object:
    raise TypeError(request)


@_answer.register
def _(request: ScreenRequest) -> object:
    return screen_page(request)


@_answer.register
def _(request: ColourRequest) -> object:
    return Colours(tuple(colours_of(request.text, request.kind)))


@_answer.register
def _(request: MarkdownRequest) -> object:
    return tree_of(request.text, start_line=request.start_line)


@_answer.register
def _(request: TableRequest) -> object:
    return rows_of(request)
