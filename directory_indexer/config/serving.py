"""Behaviour of searches, watchers and servers: the keys of `monitoring`, `searching` and `serving`."""

from pathlib import Path
from typing import NamedTuple

from directory_indexer.config.keys import key
from directory_indexer.config.kinds import Flag, Kind, Location, Several, WholeNumber
from directory_indexer.lazy import lazily

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
        Several(Location(), of="paths"),
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
        Several(Network(), of="addresses and networks"),
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
