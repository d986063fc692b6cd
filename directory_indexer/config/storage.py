"""Location of the index: the keys of `storage`."""

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from directory_indexer.config.keys import ENDPOINT, key, section
from directory_indexer.config.kinds import Flag, Location, OneOf, Secret, SecretText, Text, WholeNumber


class Quantization(StrEnum):
    """Codes that a Qdrant server compares first; the vectors decide."""

    NONE = "none"
    INT8 = "int8"
    BINARY = "binary"


_COUNT = WholeNumber(at_least=1, at_most=1000, or_null=True)


class QdrantConfig(NamedTuple):
    """Where the vectors are."""

    endpoint: str | None = key(ENDPOINT, "URL of a Qdrant server; null: the embedded engine at path")
    path: Path = key(Location(), "directory of the embedded engine; null: qdrant in the data directory")
    collection: str = key(
        Text(r'[^<>:"/\\|?*\x00-\x1f]{1,255}', otherwise='must be a name without any of < > : " / \\ | ? *'),
        "name of the collection",
        default="directory-indexer",
    )
    api_key: SecretText | None = key(Secret(or_null=True), "key of the server")
    api_key_file: Path | None = key(Location(or_null=True), "file that holds the key of the server, instead of api_key")
    ca_file: Path | None = key(
        Location(or_null=True), "certificate of the authority to trust, as PEM; null: those of the system"
    )
    grpc_port: int | None = key(
        WholeNumber(at_least=1, at_most=65_535, or_null=True), "port of gRPC on the server, often 6334; null: use REST"
    )
    timeout_seconds: int = key(WholeNumber(at_least=1, at_most=3600), "longest wait for one answer", default=30)
    shard_number: int | None = key(_COUNT, "shards of a new collection; null: as the server chooses")
    replication_factor: int | None = key(_COUNT, "copies of every shard of a new collection")
    write_consistency_factor: int | None = key(
        _COUNT, "how many copies must have a write before it counts, in a new collection"
    )
    read_consistency: str | None = key(
        OneOf("majority", "quorum", "all", or_null=True),
        "majority, quorum or all: how many copies must agree; null: one",
    )
    quantization: str = key(
        OneOf(*Quantization),
        "none, int8 or binary: codes that are compared before the vectors decide, in a new collection",
        default=Quantization.INT8.value,
    )
    on_disk: bool = key(Flag(), "leave vectors and graph of a new collection on the disk of the server", default=False)
    cluster_index: str | None = key(
        Text(r"[A-Za-z0-9_.-]{1,200}", otherwise="must be a name of letters, digits, _, . and -", or_null=True),
        "name for texts, words and vectors on the server, from which servers without a database answer; null: none",
    )


class StorageConfig(NamedTuple):
    """Where the index is."""

    sqlite_path: Path = key(Location(), "database of files and texts; null: data.db in the data directory")
    shared_with_group: bool = key(
        Flag(),
        "let the group of the data directory read and write the index, as containers need whose user changes; "
        "false: its owner alone",
        default=False,
    )
    qdrant: QdrantConfig = section(QdrantConfig)
