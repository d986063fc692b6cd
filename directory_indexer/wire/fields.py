"""Descriptions of record fields, `Annotated[type, "description"]`, and the audiences of fields.

A field whose default is None is omitted while it is None; any other is always present in `--json`. Assistants pay for
every byte, so for them fields that are None or have their default value are omitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Annotated


class Only(Enum):
    """The audience of a field that is not for everybody."""

    PROGRAMS = auto()
    """Scripts that read `--json`; for a model the field would not be worth its tokens."""
    MODELS = auto()
    """Assistants, which need the field to continue."""


Files = Annotated[int, "Files that can be found."]
Chunks = Annotated[int, "Passages that can be found by words."]
Embedded = Annotated[int, "Passages that can be found by meaning, too."]
Bytes = Annotated[int, "Size of these files.", Only.PROGRAMS]
Skipped = Annotated[int, "Files that hold nothing to index."]
Failed = Annotated[int, "Files that could not be processed."]
Masked = Annotated[int, "Secrets that are masked in the texts.", Only.PROGRAMS]
SkipReasons = Annotated[Mapping[str, int], "How many files were skipped for which reason.", Only.PROGRAMS]
Seconds = Annotated[float, "How long it took."]
IndexedAt = Annotated[str | None, "When all words were last up to date."]
OnDisk = Annotated[str | None, "changed or gone since it was indexed."]
Truncated = Annotated[bool, "Whether there is more than is shown here."]
Outcomes = Annotated[str, "completed, interrupted, out of time or failed; the next run goes on."]
