"""Web pages as documents of headings, paragraphs, lists and tables, instead of the lines of their source."""

from __future__ import annotations

from directory_indexer.extractors.books.pages import page_blocks
from directory_indexer.extractors.decoding import decode
from directory_indexer.extractors.document import Document
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.html import main_part, n_visible, title_of
from directory_indexer.extractors.html_metadata import metadata_of_page
from directory_indexer.extractors.office.stories import write_block
from directory_indexer.extractors.readable import readable


def read_page(content: bytes, kind: str) -> Document:
    """Read the main part of a page.

    Raises:
        SkipFileError: it is no text, or more than is read.
    """
    source = decode(content)
    draft = Draft()
    main = main_part(source) or readable(source, n_visible=n_visible(source)) or source
    for block in page_blocks(main):
        write_block(block, draft)
    return draft.document(kind, title_of(source), metadata_of_page(source))
