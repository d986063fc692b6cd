"""The kinds whose pictures are read follow from their rows in the table of formats."""

from __future__ import annotations

from directory_indexer.formats.table import FORMATS, KINDS_WITH_PICTURES


def test_the_kinds_with_pictures_are_those_whose_readers_find_some() -> None:
    readers = {"open_ooxml", "open_odf", "extract_image"}
    kinds = {
        kind
        for kind, form in FORMATS.items()
        if readers & {getattr(reader, "_Lazy__name", "") for reader in (form.open, form.extract)}
    }
    # Nothing that is installed decodes HEIC: its metadata alone is read.
    assert kinds - {"heic"} == KINDS_WITH_PICTURES
