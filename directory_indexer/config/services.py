"""Settings of searches, watchers, servers, storage, fetching and telemetry.

The keys of `monitoring`, `searching`, `serving`, `storage`, `fetching` and `telemetry`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.config.kinds import (
    ENDPOINT,
    Flag,
    Kind,
    ListOf,
    Location,
    OneOf,
    Secret,
    SecretText,
    Text,
    WholeNumber,
    key,
    section,
)
from directory_indexer.core.lazy import lazily

with lazily:
    import ipaddress


class MonitoringConfig(NamedTuple):
    """Settings for noticing changes."""

    background_embedding: bool = key(
        Flag(), "let dirindex serve and index --watch go on with embedding at low priority", default=True
    )
    battery_percent: int = key(
        WholeNumber(at_least=0, at_most=100), "on a battery with less, such embedding pauses; 0: never", default=30
    )
    file_watching: bool = key(Flag(), "let dirindex serve watch the directories and index what changes", default=False)
    batch_size: int = key(
        WholeNumber(at_least=1, at_most=100_000), "how many files are committed to the index at a time", default=1000
    )


_MILLISECONDS = WholeNumber(at_least=0, at_most=60_000)


class SearchingConfig(NamedTuple):
    """Limits on the time of a search."""

    embedding_ms: int = key(
        _MILLISECONDS, "so long a command may embed passages that wait for it, in milliseconds; 0: never", default=500
    )
    refresh_ms: int = key(
        _MILLISECONDS,
        "so long a question may take to bring in what changed since the last run, in milliseconds; 0: no look",
        default=300,
    )


class Network(Kind):
    """An IP address or network."""

    def _mistake(self, value: object) -> str:
        try:
            ipaddress.ip_network(value if isinstance(value, str) else "")
        except ValueError:
            return "must be an address or a network such as 10.128.0.0/14"
        return ""


class ServingConfig(NamedTuple):
    """Permissions of clients of dirindex serve, and limits on their requests."""

    from_cluster: bool = key(
        Flag(), "answer from storage.qdrant.cluster_index alone, which another machine keeps up to date", default=False
    )
    directories: tuple[Path, ...] = key(
        ListOf(Location(), of="paths"),
        "directories that they may have indexed, with all below them, beside the tracked ones",
        default=(),
    )
    fetch_urls: bool = key(
        Flag(), "let them have documents of public addresses converted, and sent to collections", default=False
    )
    backups: Path | None = key(
        Location(or_null=True), "directory for the backups that they may have made; null: they may not", default=None
    )
    requests_per_second: int = key(
        WholeNumber(at_least=1, at_most=100_000),
        "so often each key may ask over HTTP, and twice as often at once",
        default=100,
    )
    proxies: tuple[str, ...] = key(
        ListOf(Network(), of="addresses and networks"),
        "addresses and networks of proxies that are believed in X-Forwarded-For, by which wrong keys are counted",
        default=(),
    )
    embedding_ms: int = key(
        _MILLISECONDS, "so long one search may embed passages that wait for it, in milliseconds; 0: never", default=150
    )
    linger_minutes: int = key(
        WholeNumber(at_least=0, at_most=1440),
        "so long a command leaves a process behind that answers the next ones, in minutes; 0: none",
        default=0,
    )


class Quantization(StrEnum):
    """Codes that a Qdrant server compares first; the vectors decide."""

    NONE = "none"
    INT8 = "int8"
    BINARY = "binary"


_COUNT = WholeNumber(at_least=1, at_most=1000, or_null=True)


class QdrantConfig(NamedTuple):
    """Location of the vectors."""

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
    """Location of the index."""

    sqlite_path: Path = key(Location(), "database of files and texts; null: data.db in the data directory")
    shared_with_group: bool = key(
        Flag(),
        "let the group of the data directory read and write the index, as containers need whose user changes; "
        "false: its owner alone",
        default=False,
    )
    qdrant: QdrantConfig = section(QdrantConfig)


WEB_PORTS: Final = frozenset({80, 443})
_LAST_PORT: Final = 65_535
_FORM: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+(?:/\d{1,3})?)\]|(?P<plain>[^\[\]:]+))(?::(?P<port>\d{1,5}))?")
_HOST: Final = re.compile(r"(?:\*\.)?(?=[^.])[\w-]+(?:\.[\w-]+)*")
_NETWORK: Final = re.compile(r"[\d.]+(?:/\d+)?")


class Allowance(NamedTuple):
    """A host name, `*.` and a domain, or a network, with an optional port; without a port, the web ports."""

    host: str
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None
    port: int | None

    def covers_port(self, port: int) -> bool:
        """Whether a port is allowed."""
        return port == self.port if self.port else port in WEB_PORTS

    def covers_host(self, name: str) -> bool:
        """Whether a host name is allowed, whatever it resolves to."""
        name = name.lower().rstrip(".")
        if self.host.startswith("*."):
            return name.endswith(self.host[1:])
        return bool(self.host) and name == self.host


def allowance_of(written: str) -> Allowance:
    """Parse `wiki.example`, `*.example:8443`, `10.1.0.0/16`, `10.1.2.3:8080` or `[fd00::/8]:8080`.

    Raises:
        ValueError: it is none of these.
    """
    match = _FORM.fullmatch(written.strip())
    if match is None or int(match["port"] or 1) not in range(1, _LAST_PORT + 1):
        raise ValueError(written)
    port = int(match["port"]) if match["port"] else None
    if match["six"] or _NETWORK.fullmatch(match["plain"]):
        return Allowance("", ipaddress.ip_network(match["six"] or match["plain"]), port)
    if not _HOST.fullmatch(match["plain"]):
        raise ValueError(written)
    return Allowance(match["plain"].lower(), None, port)


class Destination(Kind):
    """Hosts or a network to fetch documents from."""

    def _mistake(self, value: object) -> str:
        try:
            allowance_of(value if isinstance(value, str) else "")
        except ValueError:
            return "must be a host, *.DOMAIN, an address or a network such as 10.1.0.0/16, each with :PORT or without"
        return ""


class FetchingConfig(NamedTuple):
    """Addresses that documents may be fetched from."""

    allowed: tuple[str, ...] = key(
        ListOf(Destination(), of="hosts and networks"),
        "intranet hosts, as wiki.example or *.example:8443, and networks, as 10.1.0.0/16, beside public addresses",
        default=(),
    )


class TelemetryConfig(NamedTuple):
    """Who is told how many requests, runs and phases there are and how long they take, never what they are about."""

    otlp_endpoint: str | None = key(
        ENDPOINT, "URL of an OpenTelemetry collector that takes OTLP over HTTP, as http://collector:4318; null: none"
    )
    application_insights: SecretText | None = key(
        Secret(or_null=True), "connection string of Application Insights in Azure Monitor; null: none"
    )
    join_traces: bool = key(
        Flag(),
        "make a request part of the trace that its client names in traceparent, instead of only linking to it",
        default=False,
    )
