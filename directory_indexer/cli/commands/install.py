"""`dirindex install`: add dirindex to the assistants of this machine, and remove it again."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directory_indexer.cli.given import given_path
from directory_indexer.cli.options import AsJson, ConfigFile, DataDir, Quiet, Verbose, new_command_line
from directory_indexer.cli.output import Output
from directory_indexer.cli.serving import server_arguments
from directory_indexer.errors import ConsentNeededError, ExitCode
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.assistants import client_table
    from directory_indexer.assistants.applying import recording
    from directory_indexer.assistants.clients import Part
    from directory_indexer.cli.installing import installation, removal
    from directory_indexer.config import load_config
    from directory_indexer.render.installs import change_lines, failure_lines, step_lines
    from directory_indexer.render.json_pages import record_json
    from directory_indexer.render.quantities import count
    from directory_indexer.wire.installs import install_answer

if TYPE_CHECKING:
    from directory_indexer.assistants.steps import Plan
    from directory_indexer.cli.installing import Change

cli = new_command_line()


def client_names() -> list[str]:
    """Return the names of assistants, for completion."""
    return list(client_table.CLIENTS)


@cli.command()
def install(
    *,
    clients: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CLIENT]...", help="Assistants; without any, all that are found.", autocompletion=client_names
        ),
    ] = None,
    mcp: Annotated[bool, typer.Option("--mcp", help="The MCP server.")] = False,
    skill: Annotated[bool, typer.Option("--skill", help="The skill: when to search, grep or read.")] = False,
    hooks: Annotated[bool, typer.Option("--hooks", help="The hook: a reminder when a session starts.")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="The rules: the same reminder, always there.")] = False,
    directories: Annotated[
        list[Path] | None,
        typer.Option(
            "--directory", metavar="DIR", parser=given_path, help="A directory that assistants may add to the index."
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Let the server keep tracked directories up to date.")] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Take out what this command put in.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Add dirindex to your assistants.

    Each gets what it supports: the MCP server, a skill, a hook or rules.
    """
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    loaded = load_config(file=config, data_dir=data_dir, environ=os.environ)
    output.notes(loaded.warnings)
    named = [client_table.client_named(name) for name in clients or ()]
    options = {"mcp": mcp, "skill": skill, "hooks": hooks, "rules": rules}
    parts = [Part(name) for name, is_selected in options.items() if is_selected]
    if uninstall:
        change = removal(named, parts, loaded.data_dir)
    else:
        arguments = server_arguments(directories or (), watch=watch, config=config, data_dir=data_dir)
        change = installation(named, parts, arguments, loaded.data_dir)
    plan = change.plan
    output.notes(change.notes)
    if not as_json:
        output.lines(step_lines(plan, paths=output.paths))
        output.lines([] if quiet else change_lines(plan, paths=output.paths))
    failures = []
    if not dry_run and plan.after != plan.before:
        _require_consent(plan, output, is_named=bool(named), yes=yes)
        with recording(loaded.data_dir, plan):
            failures = change.apply(plan, loaded.data_dir)
    if as_json:
        output.data(record_json(install_answer(plan, failures, is_dry_run=dry_run)))
    else:
        output.lines(failure_lines(failures))
        output.notes(_closing_notes(change, dry_run=dry_run))
    if failures or not all(step.action.is_done for step in plan.steps):
        raise typer.Exit(ExitCode.INCOMPLETE)


def _require_consent(plan: "Plan", output: Output, *, is_named: bool, yes: bool) -> None:
    if yes or not plan.drafts or output.confirm(f"{count(len(plan.drafts), 'file')} will be written"):
        return
    if output.can_ask or not is_named:
        raise ConsentNeededError(
            "nothing was written",
            hint="" if output.can_ask else "name the assistants, or add --yes for all that are found",
        )


def _closing_notes(change: "Change", *, dry_run: bool) -> tuple[str, ...]:
    if not change.plan.steps:
        return ("this command has put nothing in",)
    return ("nothing was written",) if dry_run or not change.plan.drafts else change.advice
