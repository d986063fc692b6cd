"""The command line as Typer reads it, for help, for completion and for what `parameters` does not parse."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, cast, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from directory_indexer.cli.command_table import ALIASES, COMMANDS, GROUPS, command_named, show_version
from directory_indexer.cli.parameters import Argument, Command, Option, OptionTable, Parameter, parameters_of

_USAGE_ERROR: Any = typer.BadParameter.__base__
"""The base class of Typer's usage errors, which it does not export."""

_HELP = "help"
_COMMANDS_WITH_FREE_TEXT = frozenset({"search", "grep"})
_FIRST_STEPS = (
    ("dirindex index ~/Documents", "Index a directory; search it seconds later."),
    ('dirindex search "a question"', "Find passages by meaning and by words."),
    ("dirindex help search", "Show the arguments and options of a command."),
)


def run_command(arguments: Sequence[str]) -> int:
    """Run a command for another process, which shows help and explains mistakes itself; return the exit code.

    Raises:
        Exception: it did not end by itself.
    """
    name, *rest = arguments
    command = _typer_command(name)
    return int(command.main(rest, prog_name=f"dirindex {name}", standalone_mode=False, help_option_names=[]) or 0)


def _typer_command(name: str) -> Any:
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    command = command_named(name)
    if isinstance(command, Command):
        kind = _TextCommand if name in _COMMANDS_WITH_FREE_TEXT else TyperCommand
        app.command(name, cls=kind, help=command.help)(typer_callback(command))
    else:
        default = command.default
        app.callback(invoke_without_command=bool(default), no_args_is_help=not default, help=command.help)(
            typer_callback(default, is_group_default=True) if default else lambda: None
        )
        for sub_name, sub_command in command.commands.items():
            app.command(sub_name, help=sub_command.help)(typer_callback(sub_command))
    typer_command = typer.main.get_command(app)
    typer_command.name = name
    return typer_command


class _TextCommand(TyperCommand):
    """A command with an argument that is any text, which may begin like an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse a command line, and say how to write such a text if there is no option of that name."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except _USAGE_ERROR as error:
            if not getattr(error, "possibilities", True):  # there is no such option, nor one of a like name
                text = next((word for word in words if word.startswith(error.option_name)), error.option_name)
                error.message += f"\nTo search for it as text: {ctx.command_path} -- {shlex.quote(text)}"
            raise


def typer_callback(command: Command, *, is_group_default: bool = False) -> Callable[..., None]:
    """Return a function with the signature that Typer reads; a group's default runs if no other command is named."""
    parameters = list(parameters_of(command.call))

    def run(*, typer_context: typer.Context, **values: Any) -> None:
        if not (is_group_default and typer_context.invoked_subcommand):
            call = command.call(**{parameter.field: _field_value(parameter, values) for parameter in parameters})
            raise typer.Exit(command.run(call) or 0)

    signature = [
        inspect.Parameter("typer_context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
        *(each for parameter in parameters for each in _typer_parameters(parameter)),
    ]
    run.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in signature}
    run.__doc__ = command.run.__doc__
    return run


def _field_value(parameter: Parameter, values: Mapping[str, Any]) -> Any:
    if isinstance(parameter.spec, OptionTable):
        return {key: values[_table_name(parameter, key)] or [] for key in parameter.spec.options}
    value = values[parameter.field]
    return tuple(value or ()) if parameter.is_repeated else value


def _table_name(parameter: Parameter, key: str) -> str:
    return f"{parameter.field}_{key}"


def _typer_parameters(parameter: Parameter) -> Iterator[inspect.Parameter]:
    if isinstance(parameter.spec, OptionTable):
        for key, option in parameter.spec.options.items():
            yield _typer_parameter(_table_name(parameter, key), list[str] | None, None, option)
    elif parameter.is_repeated:
        hint = list[parameter.type] if parameter.is_required else list[parameter.type] | None  # type: ignore[name-defined]
        yield _typer_parameter(
            parameter.field, hint, inspect.Parameter.empty if parameter.is_required else None, parameter.spec
        )
    else:
        hint = parameter.type | None if parameter.is_optional else parameter.type
        default = inspect.Parameter.empty if parameter.is_required else parameter.default
        yield _typer_parameter(parameter.field, hint, default, parameter.spec)


def _typer_parameter(name: str, hint: Any, default: Any, spec: Option | Argument) -> inspect.Parameter:
    settings: dict[str, Any] = {
        "help": spec.help,
        "metavar": spec.metavar or _metavar(name, hint, spec, is_required=default is inspect.Parameter.empty),
        "parser": spec.parse,
        "autocompletion": spec.complete,
        "show_default": spec.shows_default,
    }
    if isinstance(spec, Option):
        settings |= {"min": spec.minimum, "max": spec.maximum, "hidden": spec.is_hidden}
        info = typer.Option(*spec.names, **settings)
    else:
        info = typer.Argument(**settings)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, info])


def _metavar(name: str, hint: Any, spec: Option | Argument, *, is_required: bool) -> str | None:
    """Return the word for a value in help; None for a flag, and where Typer lists the values."""
    if isinstance(spec, Argument):
        return name.upper() if is_required else f"[{name.upper()}]"
    types = {hint, *get_args(hint)}
    if not types & {int, str, list[str]}:
        return None
    return "N" if int in types else spec.names[0].strip("-").upper()


class _Commands(Mapping[str, Any]):
    """Typer's command objects, each created on first access."""

    def __getitem__(self, name: str) -> Any:
        return _typer_command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _CommandLine(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast("dict[str, Any]", _Commands())  # Typer only reads it

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command for the first word, which may be an alias; `help COMMAND` stands for `COMMAND --help`."""
        if args[0] == _HELP:
            args = [*args[1:], "--help"]
        if args == ["--help"]:
            typer.echo(ctx.get_help())
            ctx.exit()
        return super().resolve_command(ctx, [ALIASES.get(args[0], args[0]), *args[1:]])

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the description of the program, then the first steps."""
        super().format_help_text(ctx, formatter)
        with formatter.section("First steps"):
            formatter.write_dl(_FIRST_STEPS)

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """Write the commands by group, each with its alias."""
        aliases = {name: alias for alias, name in reversed(list(ALIASES.items()))}
        for title, commands in GROUPS.items():
            labels = {name: ", ".join(filter(None, (name, aliases.get(name)))) for name in commands}
            width = formatter.width - max(map(len, labels.values())) - len("    ")  # before and behind the names
            with formatter.section(title):
                formatter.write_dl([(label, short_help(name, width)) for name, label in labels.items()])


def short_help(name: str, width: int) -> str:
    """Return the first sentence of a command's help, without making Typer's parameters."""
    command = command_named(name)
    text = command.help or (isinstance(command, Command) and command.run.__doc__) or ""
    sentence: str = TyperCommand(name, help=inspect.cleandoc(text)).get_short_help_str(width)
    return sentence


cli = typer.Typer(
    cls=_CommandLine,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(*, version: bool) -> None:
    if version:
        raise typer.Exit(show_version())


@cli.callback()
def dirindex(
    *,
    version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
) -> None:
    """Find passages in your own directories by meaning and by words."""
