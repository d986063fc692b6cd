"""How the fields of records are described: `Annotated[type, "description"]`, and for whom a field is.

A field whose default is None is left out while it is None; any other is always there in `--json`. Assistants pay for
every byte: what is None or has its default is left out for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Annotated


class Only(Enum):
    """For whom a field is that not everybody gets."""

    PROGRAMS = auto()
    """What `--json` gives to scripts, and would cost a model more than it tells."""
    MODELS = auto()
    """What an assistant needs to know to go on."""


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
