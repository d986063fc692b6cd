"""Have ONNX Runtime multiply exactly on every processor, so that goldens do not depend on the one that made them.

Processors without instructions for dot products of eight bits add pairs of products in sixteen, which overflow. The
runtime can convert the weights instead, which takes its optimiser; results are then equal to the last bit.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Any = None, _target: object = None) -> ModuleSpec | None:
        """Return the specification of the module that makes sessions, whose sessions are then exact."""
        if name != "directory_indexer.core.inference":
            return None
        spec = PathFinder.find_spec(name, path)
        loader: Any = spec and spec.loader
        execute = loader.exec_module

        def execute_and_change(module: Any) -> None:
            execute(module)
            make_options = module.session_options

            def exact_options() -> Any:
                options = make_options()
                options.add_session_config_entry("session.x64quantprecision", "1")
                return options

            module.session_options = exact_options
            module.NO_OPTIMISATION = module.onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED

        loader.exec_module = execute_and_change
        return spec


sys.meta_path.insert(0, _Finder)
