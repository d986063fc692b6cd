"""Which first messages are answered before the SDK is there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from directory_indexer.server.lifecycle import DISCOVERY_VERSIONS, HANDSHAKE_VERSIONS, make_handshake_response

PARAMS: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {"listChanged": True}, "sampling": {}},
    "clientInfo": {"name": "test", "version": "1", "title": "Test"},
}
META = "io.modelcontextprotocol/"
DISCOVER: dict[str, Any] = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}


def initialize(**changes: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": PARAMS, **changes}).encode()


def test_the_versions_are_those_of_the_sdk() -> None:
    assert HANDSHAKE_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert DISCOVERY_VERSIONS == MODERN_PROTOCOL_VERSIONS


@pytest.mark.parametrize("request_id", [0, 7, "seven"])
def test_a_plain_handshake_is_answered(request_id: int | str) -> None:
    answer = make_handshake_response(initialize(id=request_id), "Ask.")
    assert answer is not None
    assert answer["id"] == request_id
    assert isinstance(answer["result"], dict)
    assert answer["result"]["instructions"] == "Ask."


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xff",
        b"[]",
        b"7",
        b'"initialize"',
        b"{}",
        b"[" * 10_000,
        initialize(method="ping"),
        initialize(method=[]),
        initialize(method="server/discover"),
        initialize(method="server/discover", params={"_meta": {}}),
        initialize(method="server/discover", params={"_meta": {f"{META}protocolVersion": "2026-07-28"}}),
        initialize(method="server/discover", params={"_meta": {**DISCOVER, f"{META}protocolVersion": "2030-01-01"}}),
        initialize(method="server/discover", params={"_meta": {**DISCOVER, f"{META}clientCapabilities": 3}}),
        initialize(jsonrpc="1.0"),
        initialize(id=None),
        initialize(id=True),
        initialize(id=[]),
        initialize(params=None),
        initialize(params=[1]),
        initialize(params={**PARAMS, "protocolVersion": "2026-07-28"}),
        initialize(params={**PARAMS, "protocolVersion": []}),
        initialize(params={**PARAMS, "capabilities": 3}),
        initialize(params={**PARAMS, "capabilities": {"roots": 3}}),
        initialize(params={**PARAMS, "clientInfo": {"name": "test"}}),
        initialize(params={**PARAMS, "clientInfo": {"name": 3, "version": "1"}}),
    ],
)
def test_whatever_else_is_left_to_the_sdk(message: bytes) -> None:
    assert make_handshake_response(message, "Ask.") is None
