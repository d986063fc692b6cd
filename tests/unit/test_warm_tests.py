"""What the process that imports all tests leaves to the workers that are its forks."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from warm_tests import Imports


@pytest.mark.parametrize("outcome", ["failed", "skipped"])
@pytest.mark.parametrize("node", ["tests/unit/test_half.py", "tests/half"])
def test_half_a_module_is_imported_again(node: str, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = {"tests/half": "tests.half.conftest"}.get(node, "tests.unit.test_half")
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    Imports().pytest_collectreport(pytest.CollectReport(node, outcome, None, []))  # type: ignore[arg-type]
    assert name not in sys.modules


def test_a_whole_module_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tests.unit.test_whole", ModuleType("whole"))
    Imports().pytest_collectreport(pytest.CollectReport("tests/unit/test_whole.py", "passed", None, []))
    assert "tests.unit.test_whole" in sys.modules
