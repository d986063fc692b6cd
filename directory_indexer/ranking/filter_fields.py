"""The fields of filters: one row for a query, the command line, programs, the page and the documentation."""

from __future__ import annotations

from typing import Final, NamedTuple


class FilterField(NamedTuple):
    """A filter. `word` is its name in a query (`author:`) and as an option (`--author`).

    `argument` is its name in calls of programs, "" if they write it into the query; `facet` is the facet that counts
    its values, or "".
    """

    word: str
    help: str
    argument: str = ""
    facet: str = ""


SOURCE_FIELDS: Final = (
    FilterField("path", "Only files whose path contains this, or matches this pattern.", "path", "directories"),
    FilterField("type", "Only files of this kind: python, md, pdf …", "types", "types"),
    FilterField("heading", "Only passages below a heading with these words."),
    FilterField("since", "Only files dated then or later: 7d, 2w, 2026-01-31.", "since", "years"),
    FilterField("until", "Only files dated then or earlier: 7d, 2026, 2026-01-31.", "until", "years"),
    FilterField("is", "Only tests or generated files: test, generated."),
)
"""Filters on the file and the passage of a hit, in the order of `ranking.query.Filters`."""

METADATA_FIELDS: Final = (
    FilterField("author", "Only documents by this author.", "author", "authors"),
    FilterField("lang", "Only text in this language: en, de …", "language", "languages"),
    FilterField("tag", "Only documents with this tag.", "tag", "tags"),
    FilterField("from", "Only mail from this sender, and what was attached to it.", "sender"),
    FilterField("to", "Only mail to this recipient, and what was attached to it.", "recipient"),
    FilterField("cc", "Only mail with a copy to this recipient, and what was attached to it.", "copied_to"),
    FilterField("subject", "Only mail with this in its subject.", "subject"),
    FilterField("camera", "Only photos by this camera: its maker, its model, or both."),
    FilterField("created", "Only documents created in 2026, 2026-01, on 2026-01-31.", "created", "years"),
)
"""Filters on the metadata of documents; a new one is a row here, and an extractor that reads it."""

ARGUMENT_FIELDS: Final = tuple(field for field in METADATA_FIELDS if field.argument)
"""Those of them that programs pass as arguments; tools name no others, since each word costs every conversation."""

FIELDS: Final = (*SOURCE_FIELDS, *METADATA_FIELDS)
