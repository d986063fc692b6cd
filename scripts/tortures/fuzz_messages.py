"""Messages that follow no protocol, and the way from many that break a server to the few that do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tortures.contained import CHEAPLY, Containment
from tortures.mutations import NUMBERS, STRINGS, mutated, smallest
from tortures.workbench import plant_small

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tortures.fuzz import Round

N_MESSAGES = 400
PING_EVERY = 20
"""So often a proper message must be answered."""

PATIENCE_SECONDS = 60.0
TOKEN = "a-token-of-a-torture-0123456789"  # noqa: S105 - of a torture
HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "torture", "version": "1"}},
}


def plant_index(this: Round) -> None:
    plant_small(this.place / "tree")
    (this.place / "token").write_text(TOKEN, encoding="utf-8")
    (this.place / "token").chmod(0o600)
    Containment(this.place).run(*CHEAPLY, "index", this.place / "tree", "--quiet", "--data-dir", this.place / "data")


def judge(this: Round, messages: list[bytes], complaint_of: Callable[[Path, Sequence[bytes]], str]) -> None:
    if (complaint := complaint_of(this.place, messages)) and this.is_new(complaint):
        left = list(smallest(messages, lambda some: complaint_of(this.place, some) == complaint, seconds=90))
        if len(left) == 1:
            whole = left[0]
            left = [bytes(smallest(whole, lambda some: complaint_of(this.place, [bytes(some)]) == complaint))]
        this.broke(complaint, name="messages.txt", content=b"\n".join(left))


def message(chance: random.Random, place: Path) -> bytes:
    """Make a message of a method with arguments that fit or do not, then change its bytes or leave them."""
    method, params = chance.choice(_METHODS)(chance, place)
    message: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": chance.choice((1, "a", 10**30, -1)),
        "method": method,
        "params": params,
    }
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        message[chance.choice(("jsonrpc", "id", "method", "params", "result", "error", "x"))] = _value(chance)
    if chance.random() < 0.1:  # noqa: PLR2004
        message.pop(chance.choice(("jsonrpc", "id", "params")))
    content = json.dumps([message] * 3 if chance.random() < 0.03 else message).encode()  # noqa: PLR2004
    return mutated(content, json.dumps(HELLO).encode(), chance) if chance.random() < 0.3 else content  # noqa: PLR2004


def _value(chance: random.Random) -> Any:
    numbers = (-1, 0, 1, 2**31, 2**63, 10**400, 0.5, 1e308, float("nan"), float("inf"), True, None)
    text = chance.choice((*STRINGS, *NUMBERS))
    deep: Any = text
    for _ in range(chance.choice((1, 5, 300))):
        deep = [deep] if chance.random() < 0.5 else {text: deep}  # noqa: PLR2004
    return chance.choice((*numbers, text, text, text * 1000, [], {}, [text] * 50, deep))


def _call(chance: random.Random, place: Path) -> tuple[str, Any]:
    paths = [str(place / "tree"), str(place / "tree" / "documents" / "schema.py"), "/", "..", "/proc/self/environ"]
    arguments: dict[str, dict[str, Any]] = {
        "search": {"query": "connection of a snapshot", "path": paths[0], "mode": "keyword", "limit": 5},
        "get_content": {"path": paths[1]},
        "similar_files": {"path": paths[1]},
        "server_info": {},
        "index": {"path": paths[3], "wait_seconds": 0},
    }
    name = chance.choice(list(arguments))
    argument = arguments[name]
    further = (
        "query",
        "path",
        "mode",
        "limit",
        "cursor",
        "start_line",
        "end_line",
        "wait_seconds",
        "cancel",
        "types",
        "since",
    )
    for _ in range(chance.choice((0, 1, 1, 3))):
        value = chance.choice(paths) if chance.random() < 0.3 else _value(chance)  # noqa: PLR2004
        argument[chance.choice((*argument, *further))] = value
    return "tools/call", {"name": name if chance.random() < 0.95 else _value(chance), "arguments": argument}  # noqa: PLR2004


def _read_resource(chance: random.Random, place: Path) -> tuple[str, Any]:
    target = place / "tree" / "documents" / "schema.py"
    uris = (
        target.as_uri(),
        f"{target.as_uri()}#page=9",
        "file:///etc/passwd",
        "file://%00",
        "file:",
        "x:y",
        _value(chance),
    )
    return "resources/read", {"uri": chance.choice(uris)}


def _other(chance: random.Random, _: Path) -> tuple[str, Any]:
    methods = (
        *("initialize", "ping", "tools/list", "resources/list", "resources/templates/list", "resources/subscribe"),
        *("prompts/list", "prompts/get", "logging/setLevel", "completion/complete", "sampling/createMessage"),
        *(
            "notifications/cancelled",
            "notifications/progress",
            "notifications/initialized",
            "server/discover",
            "",
            "rpc.x",
        ),
    )
    names = (
        "cursor",
        "uri",
        "name",
        "level",
        "requestId",
        "progressToken",
        "_meta",
        "ref",
        "argument",
        "protocolVersion",
    )
    return chance.choice(methods), {name: _value(chance) for name in chance.sample(names, 2)}


_METHODS: tuple[Callable[[random.Random, Path], tuple[str, Any]], ...] = (_call, _call, _read_resource, _other)
