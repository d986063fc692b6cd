"""An index for a test, and a fresh one to compare it with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from indexes import Index
from providers import ProviderServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    root = tmp_path / "docs"
    root.mkdir()
    index = Index(root=root, data_dir=tmp_path / "data")
    yield index
    index.close()


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Mapping[str, str]], Index]]:
    """Index texts by the names of their files, once for all tests of a module that only read."""
    built: dict[tuple[tuple[str, str], ...], Index] = {}

    def index_of(texts: Mapping[str, str]) -> Index:
        key = tuple(texts.items())
        if key not in built:
            place = tmp_path_factory.mktemp("indexed")
            (place / "docs").mkdir()
            built[key] = Index(root=place / "docs", data_dir=place / "data")
            for name, text in texts.items():
                built[key].write(name, text)
            built[key].run()
        return built[key]

    yield index_of
    for index in built.values():
        index.close()


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Index], dict[str, object]]]:
    """Index the same directory from nothing, as the truth to compare with."""
    built: list[Index] = []

    def contents(index: Index) -> dict[str, object]:
        other = Index(
            root=index.root,
            data_dir=tmp_path_factory.mktemp("fresh"),
            max_file_size=index.max_file_size,
            include_secrets=index.include_secrets,
            ignore_patterns=index.ignore_patterns,
        )
        built.append(other)
        other.run()
        return other.contents()

    yield contents
    for one in built:
        one.close()


@pytest.fixture(scope="session")
def provider_process() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        yield server


@pytest.fixture
def server(provider_process: ProviderServer) -> Iterator[ProviderServer]:
    """Give a server that behaves, until it is told not to."""
    provider_process.control()
    yield provider_process
    provider_process.close_embedders()
