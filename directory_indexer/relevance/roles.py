"""Roles of files by their paths: tests, and generated files."""

from __future__ import annotations

import re
from typing import Final

ROLES: Final = ("test", "generated")
"""The values of the filter `is:`."""


def has_role(path: str, role: str) -> bool:
    """Whether a path below a tracked directory, with slashes, is that of a test or of a generated file."""
    return bool(re.search(_TEST if role == "test" else _GENERATED, path))


_TEST: Final = r"""(?x)
    (?:^|/) (?:tests?|testing|__tests__|specs?|testdata|__mocks__|fixtures?|e2e) /
    | (?:^|/) (?:test_[^/]*|conftest\.py) $
    | [._-] (?:tests?|specs?) \.[^/]+ $
    | [a-z0-9] (?:Tests?|Spec) \.\w+ $
"""
_GENERATED: Final = r"""(?x)
    (?:^|/) (?:node_modules|dist|generated|__generated__|gen) /
    | (?:^|/) (?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|Cargo\.lock|composer\.lock|
                Gemfile\.lock|go\.sum|Pipfile\.lock|flake\.lock) $
    | \.min\.(?:js|css)$ | \.(?:js|css)\.map$ | [._-](?:generated|gen|g)\.\w+$
    | _pb2(?:_grpc)?\.pyi?$ | \.pb\.(?:go|cc|h)$ | \.designer\.\w+$ | \.bundle\.js$
"""
