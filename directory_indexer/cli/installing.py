"""Plans of `dirindex install`: adding dirindex to assistants, or removing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from directory_indexer.cli.serving import unset_variables_note
from directory_indexer.errors import UsageError
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.assistants import client_table
    from directory_indexer.assistants.applying import apply_installation, apply_removal
    from directory_indexer.assistants.clients import default_parts
    from directory_indexer.assistants.installing import Installation, found_clients, has_plugin
    from directory_indexer.assistants.launching import launch_of
    from directory_indexer.assistants.places import this_system
    from directory_indexer.assistants.record import read_record
    from directory_indexer.assistants.removing import Removal

if TYPE_CHECKING:
    from directory_indexer.assistants.applying import Failure
    from directory_indexer.assistants.clients import Client, Part
    from directory_indexer.assistants.places import System
    from directory_indexer.assistants.steps import Plan


class Change(NamedTuple):
    """A plan, the function that carries it out, notes to print before it and advice to print after it."""

    plan: Plan
    apply: Callable[[Plan, Path], list[Failure]]
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


def removal(clients: Sequence[Client], parts: Sequence[Part], data_dir: Path) -> Change:
    """Plan to remove parts from clients; without clients, from all of them."""
    plan = Removal(this_system(), read_record(data_dir)).plan([client.name for client in clients], parts)
    return Change(plan, apply_removal)


def installation(clients: Sequence[Client], parts: Sequence[Part], arguments: Sequence[str], data_dir: Path) -> Change:
    """Plan to add parts to clients: without clients, to all that are installed; without parts, each client's defaults.

    Raises:
        UsageError: no client is found, or a named one has no place for the parts.
    """
    system = this_system()
    chosen = clients or found_clients(client_table.CLIENTS.values(), system)
    if not chosen:
        raise UsageError("no assistant was found on this machine", hint=f"name one: {', '.join(client_table.CLIENTS)}")
    parts_by_client = [
        (client, [part for part in parts or default_parts(client) if part in client.parts]) for client in chosen
    ]
    if placeless := [name.name for name, client_parts in parts_by_client if clients and not client_parts]:
        raise UsageError(
            f"no place is known for {' or '.join(parts)} in {', '.join(placeless)}",
            hint="docs/assistants.md says what each assistant takes",
        )
    plan = Installation(system, launch_of(arguments), read_record(data_dir)).plan(parts_by_client)
    notes = (*unset_variables_note(), *_plugin_note(plan, system))
    return Change(plan, apply_installation, notes, ("restart the assistants: they read this when they start",))


def _plugin_note(plan: Plan, system: System) -> list[str]:
    is_double = any(step.client == "claude-code" for step in plan.steps) and has_plugin(system)
    return ["Claude Code also has the dirindex plugin: keep only one of the two"] if is_double else []
