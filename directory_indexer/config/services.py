"""Settings of searches, watchers, servers, storage, fetching and telemetry.

The keys of `monitoring`, `searching`, `serving`, `storage`, `fetching` and `telemetry`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.config.value_types import (
    ENDPOINT,
    Flag,
    Integer,
    ListOf,
    Location,
    OneOf,
    Secret,
    SecretText,
    Text,
    ValueType,
    key,
    section,
)
from directory_indexer.core.lazy import lazily

with lazily:
    import ipaddress


class MonitoringConfig(NamedTuple):
    """Noticing of changes."""

    background_embedding: bool = key(Flag(), "embed at low priority in dirindex serve and index --watch", default=True)
    battery_percent: int = key(
        Integer(minimum=0, maximum=100), "battery level below which such embedding pauses; 0: never", default=30
    )
    file_watching: bool = key(Flag(), "watch the directories in dirindex serve, and index changes", default=False)
    batch_size: int = key(
        Integer(minimum=1, maximum=100_000), "number of files in one commit to the index", default=1000
    )


_MILLISECONDS = Integer(minimum=0, maximum=60_000)


class SearchingConfig(NamedTuple):
    """Limits on the time of a search."""

    embedding_ms: int = key(
        _MILLISECONDS, "longest time that a command embeds waiting passages, in milliseconds; 0: never", default=500
    )
    refresh_ms: int = key(
        _MILLISECONDS,
        "longest time that a query takes to index recent changes, in milliseconds, or seven times as long for up to "
        "ten changes of 1 MB together; 0: no refresh",
        default=300,
    )


class NetworkText(ValueType):
    """The text of an IP address or network."""

    def _error(self, value: object) -> str:
        try:
            ipaddress.ip_network(value if isinstance(value, str) else "")
        except ValueError:
            return "must be an address or a network such as 10.128.0.0/14"
        return ""


class ServingConfig(NamedTuple):
    """Permissions of clients of dirindex serve, and limits on their requests."""

    from_cluster: bool = key(
        Flag(), "answer only from storage.qdrant.cluster_index, which another machine keeps up to date", default=False
    )
    directories: tuple[Path, ...] = key(
        ListOf(Location(), of="paths"),
        "directories that they may have indexed, with everything below, besides the tracked ones",
        default=(),
    )
    fetch_urls: bool = key(
        Flag(), "let them convert documents from public addresses, or send them to collections", default=False
    )
    backups: Path | None = key(
        Location(nullable=True), "directory of backups that they may request; null: no backups", default=None
    )
    requests_per_second: int = key(
        Integer(minimum=1, maximum=100_000),
        "HTTP requests per second allowed for each key; bursts of twice as many",
        default=100,
    )
    proxies: tuple[str, ...] = key(
        ListOf(NetworkText(), of="addresses and networks"),
        "trusted proxies, whose X-Forwarded-For names the client when wrong keys are counted",
        default=(),
    )
    embedding_ms: int = key(
        _MILLISECONDS, "longest time that one search embeds waiting passages, in milliseconds; 0: never", default=150
    )
    linger_minutes: int = key(
        Integer(minimum=0, maximum=1440),
        "minutes that a command leaves a process running to answer the next ones; 0: none",
        default=0,
    )


class Quantization(StrEnum):
    """Quantization of vectors on a Qdrant server, which rescores with the vectors themselves."""

    NONE = "none"
    INT8 = "int8"
    BINARY = "binary"


_COUNT = Integer(minimum=1, maximum=1000, nullable=True)


class QdrantConfig(NamedTuple):
    """Location of the vectors."""

    endpoint: str | None = key(ENDPOINT, "URL of a Qdrant server; null: the embedded engine at path")
    path: Path = key(Location(), "directory of the embedded engine; null: qdrant in the data directory")
    collection: str = key(
        Text(r'[^<>:"/\\|?*\x00-\x1f]{1,255}', message='must be a name without any of < > : " / \\ | ? *'),
        "name of the collection",
        default="directory-indexer",
    )
    api_key: SecretText | None = key(Secret(nullable=True), "key of the server")
    api_key_file: Path | None = key(
        Location(nullable=True), "file that holds the key of the server, instead of api_key"
    )
    ca_file: Path | None = key(
        Location(nullable=True), "certificate of the trusted authority, as PEM; null: those of the system"
    )
    grpc_port: int | None = key(
        Integer(minimum=1, maximum=65_535, nullable=True), "gRPC port of the server, usually 6334; null: use REST"
    )
    timeout_seconds: int = key(Integer(minimum=1, maximum=3600), "longest wait for a response", default=30)
    shard_number: int | None = key(_COUNT, "shards of a new collection; null: as the server chooses")
    replication_factor: int | None = key(_COUNT, "copies of every shard of a new collection")
    write_consistency_factor: int | None = key(_COUNT, "copies that must confirm a write, in a new collection")
    read_consistency: str | None = key(
        OneOf("majority", "quorum", "all", nullable=True),
        "copies that must agree: majority, quorum or all; null: one",
    )
    quantization: str = key(
        OneOf(*Quantization),
        "none, int8 or binary: quantized vectors to compare before the full ones, in a new collection",
        default=Quantization.INT8.value,
    )
    on_disk: bool = key(Flag(), "keep vectors and graph of a new collection on the server's disk", default=False)
    cluster_index: str | None = key(
        Text(r"[A-Za-z0-9_.-]{1,200}", message="must be a name of letters, digits, _, . and -", nullable=True),
        "name of the index on the server, from which servers without a database answer; null: none",
    )


class StorageConfig(NamedTuple):
    """Location of the index."""

    sqlite_path: Path = key(Location(), "database of files and texts; null: data.db in the data directory")
    shared_with_group: bool = key(
        Flag(),
        "let the group of the data directory read and write the index, for containers whose user changes; "
        "false: only its owner",
        default=False,
    )
    qdrant: QdrantConfig = section(QdrantConfig)


WEB_PORTS: Final = frozenset({80, 443})
_LAST_PORT: Final = 65_535
_FORM: Final = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+(?:/\d{1,3})?)\]|(?P<plain>[^\[\]:]+))(?::(?P<port>\d{1,5}))?")
_HOST: Final = re.compile(r"(?:\*\.)?(?=[^.])[\w-]+(?:\.[\w-]+)*")
_NETWORK: Final = re.compile(r"[\d.]+(?:/\d+)?")


class HostRule(NamedTuple):
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


def parse_host_rule(text: str) -> HostRule:
    """Parse `wiki.example`, `*.example:8443`, `10.1.0.0/16`, `10.1.2.3:8080` or `[fd00::/8]:8080`.

    Raises:
        ValueError: it is none of these.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None or int(match["port"] or 1) not in range(1, _LAST_PORT + 1):
        raise ValueError(text)
    port = int(match["port"]) if match["port"] else None
    if match["ipv6"] or _NETWORK.fullmatch(match["plain"]):
        return HostRule("", ipaddress.ip_network(match["ipv6"] or match["plain"]), port)
    if not _HOST.fullmatch(match["plain"]):
        raise ValueError(text)
    return HostRule(match["plain"].lower(), None, port)


class HostRuleText(ValueType):
    """The text of a host rule."""

    def _error(self, value: object) -> str:
        try:
            parse_host_rule(value if isinstance(value, str) else "")
        except ValueError:
            return "must be a host, *.DOMAIN, an address or a network such as 10.1.0.0/16, each with :PORT or without"
        return ""


class FetchingConfig(NamedTuple):
    """Addresses that documents may be fetched from."""

    allowed: tuple[str, ...] = key(
        ListOf(HostRuleText(), of="hosts and networks"),
        "intranet hosts, like wiki.example or *.example:8443, and networks, like 10.1.0.0/16, besides public addresses",
        default=(),
    )


class TelemetryConfig(NamedTuple):
    """Export of counts and durations of requests, runs and phases, never of their content."""

    otlp_endpoint: str | None = key(
        ENDPOINT, "URL of an OpenTelemetry collector for OTLP over HTTP, like http://collector:4318; null: none"
    )
    application_insights: SecretText | None = key(
        Secret(nullable=True), "connection string of Application Insights in Azure Monitor; null: none"
    )
    join_traces: bool = key(
        Flag(),
        "make a request part of the trace that its client names in traceparent, instead of only linking to it",
        default=False,
    )
