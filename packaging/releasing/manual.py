"""Manual pages, one for each command, made from what `--help` shows."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from directory_indexer import __version__
from directory_indexer.cli.command_line import cli
from releasing.completions import write_completions

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


def pack_manual(archive: Path, date: str, seconds: int) -> Path:
    """Pack manual pages and completions, whose dates and owners say nothing about who built them."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        files = [*write_manual(place / "man1", date=date), *write_completions(place / "completions")]
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for path in sorted(files):
                member = tarfile.TarInfo(str(path.relative_to(place)))
                member.size, member.mtime, member.mode = path.stat().st_size, seconds, 0o644
                tar.addfile(member, io.BytesIO(path.read_bytes()))
    archive.write_bytes(gzip.compress(packed.getvalue(), mtime=seconds))
    return archive


def write_manual(directory: Path, *, date: str) -> list[Path]:
    """Write a page for the program and for each command, in section 1; `date` stands at the foot of each."""
    directory.mkdir(parents=True, exist_ok=True)
    root = typer.main.get_command(cli)
    names = [(_NAME, *words) for words in _commands(root)]
    pages = []
    for words, command in (((_NAME,), root), *(((_NAME, *words), name) for words, name in _commands(root).items())):
        page = directory / f"{'-'.join(words)}.1"
        page.write_text("\n".join(_page(words, command, names, date)) + "\n", encoding="utf-8")
        pages.append(page)
    return pages


def _commands(group: Any, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    commands: dict[tuple[str, ...], Any] = {}
    for name, command in (getattr(group, "commands", None) or {}).items():
        commands[*above, name] = command
        commands |= _commands(command, (*above, name))
    return commands


def _page(words: tuple[str, ...], command: Any, names: list[tuple[str, ...]], date: str) -> Iterator[str]:
    title = "-".join(words)
    lines = (command.help or "").strip().split("\n\n")
    yield f'.TH "{_text(title.upper())}" 1 "{date}" "{_NAME} {__version__}" "{_NAME}"'
    yield from (".SH NAME", f"{_text(title)} \\- {_text(_sentence(lines[0]))}")
    yield from (".SH SYNOPSIS", f".B {_text(' '.join(words))}", _text(_usage(command)))
    yield ".SH DESCRIPTION"
    for number, paragraph in enumerate(lines):
        yield from ([".PP"] if number else []) + [_text(" ".join(paragraph.split()))]
    visible = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    yield from _parameters("ARGUMENTS", [parameter for parameter in visible if parameter.param_type_name == "argument"])
    yield from _parameters("OPTIONS", [parameter for parameter in visible if parameter.param_type_name == "option"])
    if below := [name for name in names if name[: len(words)] == words and len(name) == len(words) + 1]:
        yield ".SH COMMANDS"
        for name in below:
            yield from (".TP", f".BR {_text('-'.join(name))} (1)", _text(_sentence(_help_of(words, name, command))))
    yield ".SH EXIT STATUS"
    for code, meaning in _EXIT_CODES:
        yield from (".TP", f".B {code}", meaning)
    above = [name for name in ((_NAME,), words[:-1]) if name and name != words]
    if above:
        yield from (".SH SEE ALSO", ", ".join(f"\\fB{_text('-'.join(name))}\\fR(1)" for name in dict.fromkeys(above)))


def _help_of(words: tuple[str, ...], name: tuple[str, ...], command: Any) -> str:
    return (command.commands[name[len(words)]].help or "").strip().split("\n\n")[0]


def _usage(command: Any) -> str:
    parts = ["[OPTIONS]"]
    if getattr(command, "commands", None):
        parts.append("COMMAND [ARGS]...")
    return " ".join(
        (*parts, *(_argument(parameter) for parameter in command.params if parameter.param_type_name == "argument"))
    )


def _argument(parameter: Any) -> str:
    if parameter.metavar:
        return str(parameter.metavar)
    name = parameter.name.upper()
    name = f"{name}..." if parameter.nargs == -1 else name
    return name if parameter.required else f"[{name}]"


def _parameters(heading: str, parameters: list[Any]) -> Iterator[str]:
    if parameters:
        yield f".SH {heading}"
    for parameter in parameters:
        if parameter.param_type_name == "argument":
            label = f"\\fB{_text(_argument(parameter))}\\fR"
        else:
            label = ", ".join(
                f"\\fB{_text(name)}\\fR" for name in sorted((*parameter.opts, *parameter.secondary_opts), key=len)
            )
            if not parameter.is_flag and not parameter.count:
                label += f" \\fI{_text(_value(parameter))}\\fR"
        yield from (".TP", label, _text(" ".join((parameter.help or "").split())))


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
