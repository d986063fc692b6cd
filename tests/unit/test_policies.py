"""The settings that decide how an index is built, and what their change makes a run do again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.app import App
from directory_indexer.config import load_config

if TYPE_CHECKING:
    from pathlib import Path

    from directory_indexer.core.fingerprint import Fingerprint

OPENAI = {"DIRINDEX_EMBEDDING__PROVIDER": "openai", "DIRINDEX_EMBEDDING__MODEL": "text-embedding-3-small"}


def fingerprint(data_dir: Path, **environ: str) -> Fingerprint:
    return App(load_config(file=None, data_dir=data_dir, environ=environ)).policies.fingerprint


@pytest.mark.parametrize(
    ("section", "setting", "value", "work"),
    [
        ("embedding", "provider", "ollama", "searchable by meaning again"),
        ("embedding", "model", "text-embedding-3-large", "searchable by meaning again"),
        ("embedding", "dimensions", "256", "searchable by meaning again"),
        ("embedding", "document_prefix", "passage: ", "searchable by meaning again"),
        ("indexing", "chunk_size", "128", "chunk every file again"),
        ("indexing", "overlap", "16", "chunk every file again"),
    ],
)
def test_a_changed_setting_is_told_with_the_work_that_it_causes(
    tmp_path: Path, section: str, setting: str, value: str, work: str
) -> None:
    built = fingerprint(tmp_path, **OPENAI)
    changed = fingerprint(tmp_path, **OPENAI | {f"DIRINDEX_{section}__{setting}".upper(): value})
    assert any(work in difference for difference in changed.differences(built))
    assert built.differences(built) == ()


def test_another_prefix_of_queries_leaves_the_index_as_it_is(tmp_path: Path) -> None:
    changed = fingerprint(tmp_path, **OPENAI, DIRINDEX_EMBEDDING__QUERY_PREFIX="query: ")
    assert changed.differences(fingerprint(tmp_path, **OPENAI)) == ()
