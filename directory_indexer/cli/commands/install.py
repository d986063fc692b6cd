"""`dirindex install`: add dirindex to the assistants of this machine, and remove it again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from directory_indexer.cli.commands import OrdinaryCall, parse_path
from directory_indexer.cli.commands.serve import server_arguments, unset_variables_note
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.core.errors import ConsentNeededError, ExitCode, UsageError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.reports import install_answer
    from directory_indexer.config import load_config
    from directory_indexer.integrations.assistants import client_table
    from directory_indexer.integrations.assistants.clients import Part, default_parts, launch_of, this_system
    from directory_indexer.integrations.assistants.config_files import read_record
    from directory_indexer.integrations.assistants.planning import (
        Installation,
        Removal,
        apply_installation,
        apply_removal,
        has_plugin,
        installed_clients,
        lock_record,
    )
    from directory_indexer.text.formatting import count
    from directory_indexer.text.installs import change_lines, failure_lines, step_lines

if TYPE_CHECKING:
    from directory_indexer.integrations.assistants.clients import Client, System
    from directory_indexer.integrations.assistants.planning import Failure, Plan


def client_names() -> list[str]:
    """Return the names of assistants, for completion."""
    return list(client_table.CLIENTS)


class InstallCall(OrdinaryCall):
    """The command line of `install`."""

    clients: Annotated[
        tuple[str, ...],
        Argument("Assistants; default: all that are found.", metavar="[CLIENT]...", complete=client_names),
    ] = ()
    mcp: Annotated[bool, Option(("--mcp",), "The MCP server.")] = False
    skill: Annotated[bool, Option(("--skill",), "The skill: when to search, grep or read.")] = False
    hooks: Annotated[bool, Option(("--hooks",), "The hook: a reminder when a session starts.")] = False
    rules: Annotated[bool, Option(("--rules",), "The rules: the same reminder, always there.")] = False
    directories: Annotated[
        tuple[Path, ...],
        Option(("--directory",), "A directory that assistants may add to the index.", metavar="DIR", parse=parse_path),
    ] = ()
    watch: Annotated[bool, Option(("--watch",), "Let the server keep tracked directories up to date.")] = False
    uninstall: Annotated[bool, Option(("--uninstall",), "Remove what this command added.")] = False
    dry_run: Annotated[bool, Option(("--dry-run",), "Show what would be written without writing it.")] = False
    yes: Annotated[bool, Option(("--yes", "-y"), "Do not ask for confirmation.")] = False


def install(call: InstallCall) -> ExitCode:
    """Add dirindex to your assistants.

    Each gets what it supports: the MCP server, a skill, a hook or rules.
    """
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=call.as_json)
    loaded = load_config(file=call.config, data_dir=call.data_dir, environ=os.environ)
    output.notes(loaded.warnings)
    named = [client_table.client_named(name) for name in call.clients]
    options = {"mcp": call.mcp, "skill": call.skill, "hooks": call.hooks, "rules": call.rules}
    parts = [Part(name) for name, is_selected in options.items() if is_selected]
    if call.uninstall:
        change = removal(named, parts, loaded.data_dir)
    else:
        arguments = server_arguments(call.directories, watch=call.watch, config=call.config, data_dir=call.data_dir)
        change = installation(named, parts, arguments, loaded.data_dir)
    plan = change.plan
    output.notes(change.notes)
    if not call.as_json:
        output.lines(step_lines(plan, paths=output.paths))
        output.lines([] if call.quiet else change_lines(plan, paths=output.paths))
    failures = []
    if not call.dry_run and plan.after != plan.before:
        _require_consent(plan, output, is_named=bool(named), yes=call.yes)
        with lock_record(loaded.data_dir, plan):
            failures = change.apply(plan, loaded.data_dir)
    if call.as_json:
        output.record(install_answer(plan, failures, is_dry_run=call.dry_run))
    else:
        output.lines(failure_lines(failures))
        output.notes(_closing_notes(change, dry_run=call.dry_run))
    is_done = not failures and all(step.action.is_done for step in plan.steps)
    return ExitCode.DONE if is_done else ExitCode.INCOMPLETE


def _require_consent(plan: Plan, output: Output, *, is_named: bool, yes: bool) -> None:
    if yes or not plan.drafts or output.confirm(f"{count(len(plan.drafts), 'file')} will be written"):
        return
    if output.can_ask or not is_named:
        raise ConsentNeededError(
            "nothing was written",
            hint="" if output.can_ask else "name the assistants, or add --yes for all that are found",
        )


def _closing_notes(change: Change, *, dry_run: bool) -> tuple[str, ...]:
    if not change.plan.steps:
        return ("this command has put nothing in",)
    return ("nothing was written",) if dry_run or not change.plan.drafts else change.advice


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
    chosen = clients or installed_clients(client_table.CLIENTS.values(), system)
    if not chosen:
        raise UsageError("no assistant was found on this machine", hint=f"name one: {', '.join(client_table.CLIENTS)}")
    parts_by_client = [
        (client, [part for part in parts or default_parts(client) if part in client.parts]) for client in chosen
    ]
    if placeless := [name.name for name, client_parts in parts_by_client if clients and not client_parts]:
        raise UsageError(
            f"no place is known for {' or '.join(parts)} in {', '.join(placeless)}",
            hint="docs/assistants.md lists what each assistant supports",
        )
    plan = Installation(system, launch_of(arguments), read_record(data_dir)).plan(parts_by_client)
    notes = (*unset_variables_note(), *_plugin_note(plan, system))
    return Change(plan, apply_installation, notes, ("restart the assistants: they read this when they start",))


def _plugin_note(plan: Plan, system: System) -> list[str]:
    is_double = any(step.client == "claude-code" for step in plan.steps) and has_plugin(system)
    return ["Claude Code also has the dirindex plugin: keep only one of the two"] if is_double else []


COMMANDS = {"install": Command(InstallCall, install)}
