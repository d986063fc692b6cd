"""The order in which waiting chunks are embedded: those likely to be searched for come first. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from enum import IntEnum
from typing import Final

from directory_indexer.docstore.embedding_queue import WaitingFile, WaitingRows
from directory_indexer.extractors.kinds import GROUPS
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath

with lazily:
    import numpy as np


class _Urgency(IntEnum):
    SEARCHED = 0
    WRITTEN = 1
    DATA = 2
    VENDORED = 3
    GENERATED = 4


def in_order(waiting: WaitingRows, files: Sequence[WaitingFile], searched: Collection[FilePath] = ()) -> list[int]:
    """Return rows of chunks ordered by their files: `searched`; written by people; data; vendored; generated.

    Among files of one priority, those changed last come first.
    """
    ordered = sorted(files, key=lambda file: (_urgency(file, searched), -file.mtime_ns, file.path))
    places = {file.id: place for place, file in enumerate(ordered)}
    by_file = np.fromiter((places[file_id] for file_id in waiting.file_ids), np.int64, len(waiting.file_ids))
    rows: list[int] = np.array(waiting.rows, np.int64)[np.argsort(by_file, kind="stable")].tolist()
    return rows


def _urgency(file: WaitingFile, searched: Collection[FilePath]) -> _Urgency:
    if file.path in searched:
        return _Urgency.SEARCHED
    path = file.path.replace("\\", "/")
    if _GENERATED.search(path):
        return _Urgency.GENERATED
    if _VENDORED.search(path):
        return _Urgency.VENDORED
    return _Urgency.DATA if file.kind in GROUPS["data"] else _Urgency.WRITTEN


_VENDORED: Final = re.compile(
    r"/(?:vendor|vendored|third_party|thirdparty|3rdparty|external|externals|deps|bower_components|site-packages)/"
)
_GENERATED: Final = re.compile(
    r"""
    /(?:generated|__generated__|autogen|dist|build|out|snapshots?|__snapshots__)/
    | [./_-](?:min|bundle|generated|gen|pb|pb2|pb2_grpc|g)\.[A-Za-z0-9]+$
    | /(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|Pipfile\.lock
        |Cargo\.lock|composer\.lock|Gemfile\.lock|go\.sum|flake\.lock|[^/]*\.(?:lock|map|snap))$
    """,
    re.VERBOSE,
)
