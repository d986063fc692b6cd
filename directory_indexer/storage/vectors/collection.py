"""Creation and checks of the collection on a Qdrant server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from qdrant_client import QdrantClient, models

from directory_indexer.config.services import Quantization
from directory_indexer.core.errors import VectorStoreError

INDEX_FIELD = "index"


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """The parameters of a collection; None leaves a choice to the server. For an existing one, only the name counts."""

    name: str
    shard_number: int | None = None
    replication_factor: int | None = None
    write_consistency_factor: int | None = None
    read_consistency: str | None = None
    quantization: Quantization = Quantization.INT8
    on_disk: bool = False


def ensure_collection(client: QdrantClient, plan: CollectionPlan, *, dimensions: int) -> None:
    """Create the collection with its payload indexes, or what is missing of them.

    Raises:
        VectorStoreError: a collection of that name cannot hold vectors of this index.
    """
    if not client.collection_exists(plan.name):
        _create_collection(client, plan, dimensions)
    info = client.get_collection(plan.name)
    require_compatible(info, plan.name, dimensions=dimensions)
    for field, schema in _PAYLOAD_INDEXES.items():
        if field not in info.payload_schema:
            client.create_payload_index(plan.name, field, field_schema=schema, wait=True)


def require_compatible(info: models.CollectionInfo, name: str, *, dimensions: int) -> None:
    """Check that a collection was created for the vectors of this index.

    Raises:
        VectorStoreError: its vectors are of another size, use another distance, or are named.
    """
    vectors = info.config.params.vectors
    hint = "name another one in storage.qdrant.collection: it is made when it is needed"
    if not isinstance(vectors, models.VectorParams) or vectors.distance is not models.Distance.COSINE:
        raise VectorStoreError(f"the collection '{name}' was not made by dirindex", hint=hint)
    if vectors.size != dimensions:
        raise VectorStoreError(
            f"the collection '{name}' holds vectors of {vectors.size} dimensions, the model makes {dimensions}",
            hint=hint,
        )


def search_params(plan: CollectionPlan) -> models.SearchParams:
    """Return parameters that fetch more candidates than requested by their codes and rescore them by their vectors."""
    oversampling = _OVERSAMPLING.get(plan.quantization)
    rescoring = models.QuantizationSearchParams(rescore=True, oversampling=oversampling) if oversampling else None
    return models.SearchParams(hnsw_ef=_SEARCH_EF, quantization=rescoring)


def read_consistency_of(plan: CollectionPlan) -> models.ReadConsistencyType | None:
    """Return how many replicas must agree on what is read."""
    return models.ReadConsistencyType(plan.read_consistency) if plan.read_consistency else None


def scroll(
    send: Callable[[Callable[[QdrantClient], Any]], Any],
    plan: CollectionPlan,
    collection: str,
    condition: models.Filter | None,
    *,
    fields: Sequence[str] = (),
) -> Iterator[models.Record]:
    """Yield the points that satisfy a condition, page by page, with these fields of their payloads, or all of them."""
    offset: Any = None
    while True:
        page = partial(
            QdrantClient.scroll,
            collection_name=collection,
            scroll_filter=condition,
            limit=_SCROLL_PAGE,
            offset=offset,
            with_payload=list(fields) or True,
            consistency=read_consistency_of(plan),
        )
        records, offset = send(page)
        yield from records
        if offset is None:
            return


_SCROLL_PAGE = 1000

EXACT_SEARCH = models.SearchParams(exact=True, quantization=models.QuantizationSearchParams(ignore=True))
"""Compares the vectors themselves, all that match the filter."""

_SEARCH_EF = 256
"""The size of the candidate list in the graph; Qdrant's default of 100 is faster and finds less."""

_OVERSAMPLING = {Quantization.INT8: 2.0, Quantization.BINARY: 4.0}


def _create_collection(client: QdrantClient, plan: CollectionPlan, dimensions: int) -> None:
    client.create_collection(
        plan.name,
        vectors_config=models.VectorParams(size=dimensions, distance=models.Distance.COSINE, on_disk=plan.on_disk),
        shard_number=plan.shard_number,
        replication_factor=plan.replication_factor,
        write_consistency_factor=plan.write_consistency_factor,
        on_disk_payload=True,
        # Every search names one index, so a graph is built for each index instead of one over all of them.
        hnsw_config=models.HnswConfigDiff(m=0, payload_m=16, on_disk=plan.on_disk),
        quantization_config=quantization_config(plan.quantization),
    )


def quantization_config(kind: Quantization) -> models.QuantizationConfig | None:
    """Return the server's configuration of a quantization."""
    match kind:
        case Quantization.INT8:
            scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
            return models.ScalarQuantization(scalar=scalar)
        case Quantization.BINARY:
            return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
        case Quantization.NONE:
            return None


_KEYWORD_TYPE = models.KeywordIndexType.KEYWORD
_PAYLOAD_INDEXES = {
    INDEX_FIELD: models.KeywordIndexParams(type=_KEYWORD_TYPE, is_tenant=True),
    "parent_directories": models.KeywordIndexParams(type=_KEYWORD_TYPE),
    "file_path": models.KeywordIndexParams(type=_KEYWORD_TYPE, on_disk=True, enable_hnsw=False),
}
