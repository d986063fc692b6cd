from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def third_party() -> Any:
    path = Path(__file__).parents[2] / "scripts" / "third_party"
    loader = SourceFileLoader("third_party", str(path))
    spec = spec_from_loader(loader.name, loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "licence",
    [
        "GPL",
        "GPLv3",
        "GPL-2.0-or-later",
        "AGPL3",
        "AGPL-3.0-only",
        "MIT AND GPL-3.0",
        "GNU General Public License v3 (GPLv3)",
        "GNU Affero General Public License v3",
        "Dual Licensed - GNU AFFERO GPL 3.0 or Artifex Commercial License",
        "not declared",
    ],
)
def test_a_licence_under_strong_copyleft_or_none_is_refused(third_party: Any, licence: str) -> None:
    assert third_party.looks_generated(licence)


@pytest.mark.parametrize(
    "licence",
    [
        "MIT",
        "MPL-2.0",
        "LGPL",
        "LGPLv3+",
        "LGPL-2.1-or-later",
        "GNU Lesser General Public License v3 (LGPLv3)",
        "GNU Library General Public License",
        "GNU Library or Lesser General Public License (LGPL)",
        "Apache Software License",
        "PSF-2.0",
    ],
)
def test_other_licences_are_taken(third_party: Any, licence: str) -> None:
    assert not third_party.looks_generated(licence)


def test_what_only_developers_need_is_not_listed(third_party: Any) -> None:
    found = third_party.closure("directory-indexer")
    assert {"pymupdf", "sqlite-utils", "click"} <= found
    assert not {"pytest", "ruff", "hypothesis"} & found
