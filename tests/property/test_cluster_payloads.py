"""Of a point of a cluster index that others can write, anything may be stored: it is read, or refused with a reason."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st
from qdrant_client import models

from directory_indexer.core.errors import DirIndexError
from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.document import FileFacts
from directory_indexer.storage.cluster.payloads import (
    StoredPoint,
    file_point,
    manifest_point,
    parse_file,
    parse_manifest,
)
from directory_indexer.storage.cluster.records import ClusterFile, Manifest, TrackedDirectory

DIRECTORY: Final = TrackedDirectory(FilePath("/a"), 1.0, 1, 1, 1, 1)
MANIFEST: Final = Manifest("id", "host", 1, 0, "x-passages", EmbeddingSpace("embedded", "m", 4), 1, 0, (DIRECTORY,))
FACTS: Final = FileFacts("md", "A", "en")
FILE: Final = ClusterFile(
    FilePath("/a/b"), FilePath("/a"), None, "indexed", 1, 1, "00", FACTS, "0 1", None, 0, (("author", "x"),), "r", 1
)
PAYLOADS: Final = {
    parse_manifest: manifest_point(MANIFEST).payload or {},
    parse_file: file_point(FILE, version=1).payload or {},
}

SCALARS: Final = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
VALUES: Final = st.recursive(
    SCALARS, lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values, max_size=3)
)


@given(st.sampled_from(list(PAYLOADS)), st.data())
def test_a_payload_of_a_cluster_is_read_or_refused(parse: Any, data: st.DataObject) -> None:
    payload = PAYLOADS[parse]
    changes = data.draw(st.dictionaries(st.sampled_from(sorted(payload)), VALUES, min_size=1, max_size=3))
    try:
        StoredPoint("x", models.Record(id=1, payload=payload | changes)).read(parse)
    except DirIndexError:
        return
