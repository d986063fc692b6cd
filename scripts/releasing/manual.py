"""Manual pages, one for each command, made from what `--help` shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer

from directory_indexer import __version__
from directory_indexer.cli.command_line import cli

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NAME = "dirindex"
_EXIT_CODES = (
    ("0", "done"),
    ("1", "nothing was found, or some files failed"),
    ("2", "wrong usage or configuration"),
    ("3", "something needed is not available"),
    ("4", "another run holds the lock"),
    ("70", "a bug"),
    ("130", "interrupted or paused"),
)


def write_manual(directory: Path, *, date: str) -> list[Path]:
    """Write a page for the program and for each command, in section 1; `date` stands at the foot of each."""
    directory.mkdir(parents=True, exist_ok=True)
    root = typer.main.get_command(cli)
    names = [(_NAME, *words) for words in _commands(root)]
    pages = []
    for words, command in (((_NAME,), root), *(((_NAME, *words), one) for words, one in _commands(root).items())):
        page = directory / f"{'-'.join(words)}.1"
        page.write_text("\n".join(_page(words, command, names, date)) + "\n", encoding="utf-8")
        pages.append(page)
    return pages


def _commands(group: Any, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for name, command in (getattr(group, "commands", None) or {}).items():
        found[*above, name] = command
        found |= _commands(command, (*above, name))
    return found


def _page(words: tuple[str, ...], command: Any, names: list[tuple[str, ...]], date: str) -> Iterator[str]:
    title = "-".join(words)
    lines = (command.help or "").strip().split("\n\n")
    yield f'.TH "{_text(title.upper())}" 1 "{date}" "{_NAME} {__version__}" "{_NAME}"'
    yield from (".SH NAME", f"{_text(title)} \\- {_text(_sentence(lines[0]))}")
    yield from (".SH SYNOPSIS", f".B {_text(' '.join(words))}", _text(_usage(command)))
    yield ".SH DESCRIPTION"
    for number, paragraph in enumerate(lines):
        yield from ([".PP"] if number else []) + [_text(" ".join(paragraph.split()))]
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    yield from _parameters("ARGUMENTS", [one for one in shown if one.param_type_name == "argument"])
    yield from _parameters("OPTIONS", [one for one in shown if one.param_type_name == "option"])
    if below := [one for one in names if one[: len(words)] == words and len(one) == len(words) + 1]:
        yield ".SH COMMANDS"
        for one in below:
            yield from (".TP", f".BR {_text('-'.join(one))} (1)", _text(_sentence(_help_of(words, one, command))))
    yield ".SH EXIT STATUS"
    for code, meaning in _EXIT_CODES:
        yield from (".TP", f".B {code}", meaning)
    above = [one for one in ((_NAME,), words[:-1]) if one and one != words]
    if above:
        yield from (".SH SEE ALSO", ", ".join(f"\\fB{_text('-'.join(one))}\\fR(1)" for one in dict.fromkeys(above)))


def _help_of(words: tuple[str, ...], one: tuple[str, ...], command: Any) -> str:
    return (command.commands[one[len(words)]].help or "").strip().split("\n\n")[0]


def _usage(command: Any) -> str:
    parts = ["[OPTIONS]"]
    if getattr(command, "commands", None):
        parts.append("COMMAND [ARGS]...")
    return " ".join((*parts, *(_argument(one) for one in command.params if one.param_type_name == "argument")))


def _argument(parameter: Any) -> str:
    if parameter.metavar:
        return str(parameter.metavar)
    name = parameter.name.upper()
    name = f"{name}..." if parameter.nargs == -1 else name
    return name if parameter.required else f"[{name}]"


def _parameters(heading: str, parameters: list[Any]) -> Iterator[str]:
    if parameters:
        yield f".SH {heading}"
    for one in parameters:
        if one.param_type_name == "argument":
            label = f"\\fB{_text(_argument(one))}\\fR"
        else:
            label = ", ".join(f"\\fB{_text(name)}\\fR" for name in sorted((*one.opts, *one.secondary_opts), key=len))
            if not one.is_flag and not one.count:
                label += f" \\fI{_text(_value(one))}\\fR"
        yield from (".TP", label, _text(" ".join((one.help or "").split())))


def _value(option: Any) -> str:
    if option.metavar:
        return str(option.metavar)
    return "|".join(getattr(option.type, "choices", ())) or str(option.type.name).split()[0].upper()


def _sentence(text: str) -> str:
    joined = " ".join(text.split()).removesuffix(".")
    return joined[:1].lower() + joined[1:]


def _text(text: str) -> str:
    """Escape what roff would take for itself."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", escaped)
