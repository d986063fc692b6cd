"""Swaps directories and files against links to a private tree while they are indexed: nothing of it may come in."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tortures.swap_checks import (
    PATIENCE_SECONDS,
    require_as_fresh,
    require_nothing_private,
    require_nothing_shown,
    wait_for_reading,
)
from tortures.swap_stage import Stage, Swapper, everything, inside, swapped, upwards

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from serving import RawClient
    from tortures.workbench import Torture

_WATCHED_SECONDS = 4.0
"""Longer than it takes from a report of the kernel to the end of a run over a small tree."""


def swaps(torture: Torture) -> str:
    """Run the scenarios, then `size` rounds of chance, or as many as time allows."""
    n_rounds = n_swaps = 0
    rounds = _rounds(torture.chance)
    while n_rounds < torture.size and not torture.is_over and not torture.failures:
        user, reach = next(rounds)
        n_rounds += 1
        stage = Stage.made(torture, n_rounds, user.__name__.removeprefix("_"))
        n_swaps += _one_round(stage, user, reach)
        if not torture.failures:
            shutil.rmtree(stage.place)
    return f"{n_swaps} swaps in {n_rounds} rounds of index runs"


_Reach: TypeAlias = tuple[Path, ...]
_User: TypeAlias = "Callable[[Stage, _Reach], int]"


def _rounds(chance: random.Random) -> Iterator[tuple[_User, Callable[[Stage], _Reach]]]:
    yield from (
        (_directory_while_reading, inside),
        (_directory_while_reading_over_mcp, inside),
        (_root_then_index_over_mcp, upwards),
        (_root_then_watch_over_mcp, upwards),
        (_allowed_directory_after_the_call, upwards),
    )
    # Whoever names a directory on the command line means what it is at that moment, be it a link.
    users: list[tuple[_User, Callable[[Stage], _Reach]]] = [
        (_command_with_path, inside),
        (_command_without_path, everything),
        (_watching_command, everything),
        (_client, everything),
        (_client_of_an_allowed_directory, everything),
        (_watching_server, everything),
    ]
    while True:
        yield from chance.sample(users, len(users))


def _one_round(stage: Stage, user: _User, reach: Callable[[Stage], _Reach]) -> int:
    is_new = user in {_client_of_an_allowed_directory, _allowed_directory_after_the_call}
    if not is_new:
        ended = stage.dirindex("index", stage.root, "--quiet")
        stage.require(not ended.complaint(), f"the first run {ended.complaint()}: {ended.stderr[-300:]!r}")
    stage.change_files()
    n_swaps = user(stage, reach(stage))
    require_nothing_private(stage, "after the swaps")
    ended = stage.dirindex("index", stage.root, "--quiet")
    stage.require(ended.code == 0, f"the last run ends with {ended.code}: {ended.stderr[-300:]!r}")
    require_nothing_private(stage, "in the end")
    require_as_fresh(stage)
    return n_swaps


def _directory_while_reading(stage: Stage, _: _Reach) -> int:
    stage.write_many()
    process = stage.started("index", stage.root, "--quiet")
    wait_for_reading(stage)
    with swapped(stage, stage.root / "zz"):
        process.wait(PATIENCE_SECONDS)
    return 1


def _directory_while_reading_over_mcp(stage: Stage, _: _Reach) -> int:
    stage.write_many()
    with stage.served() as client:
        reply = client.ask("tools/call", _tool("index", path=str(stage.root), wait_seconds=0))
        wait_for_reading(stage)
        with swapped(stage, stage.root / "zz"):
            client.answer_to(reply)
            _finish_index(client, path=str(stage.root))
        require_nothing_shown(stage, client)
    return 1


def _root_then_index_over_mcp(stage: Stage, above: _Reach) -> int:
    with stage.served() as client:
        for victim in above:
            with swapped(stage, victim):
                _finish_index(client)
                require_nothing_shown(stage, client)
                _finish_index(client, path=str(stage.root))
                require_nothing_shown(stage, client)
            stage.change_files()
    return len(above)


def _root_then_watch_over_mcp(stage: Stage, above: _Reach) -> int:
    with stage.served("--watch") as client:
        time.sleep(_WATCHED_SECONDS / 2)
        for victim in above:
            with swapped(stage, victim):
                time.sleep(_WATCHED_SECONDS)
                require_nothing_shown(stage, client)
                stage.write_private(stage.mirror_of(stage.root) / "later.md")
                time.sleep(_WATCHED_SECONDS / 2)
                require_nothing_shown(stage, client)
            stage.change_files()
    return len(above)


def _allowed_directory_after_the_call(stage: Stage, above: _Reach) -> int:
    delays = (0.02, 0.06, 0.12, 0.2, 0.3, 0.5)
    with stage.served(stage.outer) as client:
        for delay in delays:
            reply = client.ask("tools/call", _tool("index", path=str(stage.root), wait_seconds=0))
            time.sleep(delay)
            with swapped(stage, stage.chance.choice(above)):
                client.answer_to(reply)
                # The run resolves the path when it has started; asking again would be about the link.
                time.sleep(_WATCHED_SECONDS)
            require_nothing_shown(stage, client)
            stage.change_files()
    return len(delays)


def _command_with_path(stage: Stage, victims: _Reach) -> int:
    return _commands(stage, victims, "index", stage.root, "--quiet")


def _command_without_path(stage: Stage, victims: _Reach) -> int:
    return _commands(stage, victims, "index", "--quiet")


def _commands(stage: Stage, victims: _Reach, *words: str | Path) -> int:
    with Swapper(stage, victims) as swapper:
        for _ in range(3):
            ended = stage.dirindex(*words)
            # A root that is a link just now cannot be read, which is an error of the run.
            stage.require(
                not ended.complaint(codes=frozenset({0, 1, 3})), f"{ended.complaint()}: {ended.stderr[-300:]!r}"
            )
            require_nothing_private(stage, "after a run")
            stage.change_files()
    return swapper.n_swaps


def _watching_command(stage: Stage, victims: _Reach) -> int:
    process = stage.started("index", "--watch", "--quiet")
    with Swapper(stage, victims) as swapper:
        for _ in range(3):
            time.sleep(_WATCHED_SECONDS / 2)
            stage.change_files()
            require_nothing_private(stage, "while watching")
    stage.require(process.poll() is None, f"`index --watch` ended with {process.poll()}")
    process.terminate()
    # Its first run may have met a link in the place of the root: then it ends with 3.
    stage.require(process.wait(PATIENCE_SECONDS) in {0, 1, 3, 130, 143}, f"stopping ends with {process.returncode}")
    return swapper.n_swaps


def _client(stage: Stage, victims: _Reach) -> int:
    with stage.served() as client, Swapper(stage, victims) as swapper:
        for _ in range(3):
            _finish_index(client, **({"path": str(stage.root)} if stage.chance.random() < 0.5 else {}))  # noqa: PLR2004
            require_nothing_shown(stage, client)
            stage.change_files()
    return swapper.n_swaps


def _client_of_an_allowed_directory(stage: Stage, victims: _Reach) -> int:
    with stage.served(stage.outer) as client, Swapper(stage, victims) as swapper:
        for _ in range(3):
            _finish_index(client, path=str(stage.root))
            require_nothing_shown(stage, client)
            stage.change_files()
    return swapper.n_swaps


def _watching_server(stage: Stage, victims: _Reach) -> int:
    with stage.served("--watch") as client, Swapper(stage, victims) as swapper:
        for _ in range(3):
            time.sleep(_WATCHED_SECONDS / 2)
            require_nothing_shown(stage, client)
            stage.change_files()
    return swapper.n_swaps


def _tool(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _finish_index(client: RawClient, **arguments: Any) -> None:
    """Call the tool until no run of it goes on; it may well be refused."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        result = client.call("index", wait_seconds=20, **arguments)
        if (result.get("structuredContent") or {}).get("state") not in {"running", "queued"}:
            break
