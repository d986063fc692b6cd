"""Tool calls of a session: their purposes, and the calls that wait for their results.

The purpose follows from the name of the tool and, for a shell, from the command. Results come later in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from directory_indexer.formats.document import single_line
from directory_indexer.formats.transcripts.events import ToolCall, ToolKind
from directory_indexer.formats.transcripts.records import Record, n_bytes_of, parse_json, shorten, text_at

_MAX_WAITING: Final = 1_000
_MAX_ABOUT: Final = 120
_SHELL_PROGRAMS: Final = frozenset({"bash", "sh", "zsh", "powershell", "pwsh"})
_ABOUT: Final = (
    *("file_path", "filePath", "absolute_path", "pattern", "query", "path", "url", "description", "prompt", "input"),
)

_MAX_COMMAND: Final = 4_000
_MARKS: Final = re.compile(r"[\W_]+")
_SEPARATOR: Final = re.compile(r"&&|\|\||[;|\n]")
_ASSIGNMENTS: Final = re.compile(r"^(?:[A-Za-z_]\w*=\S*\s+)+")
_PREPARATIONS: Final = frozenset("cd pushd set export source . echo true sudo time timeout bash sh zsh -lc -c".split())
_SHELL: Final = ToolKind.SHELL
_OWN_SERVER: Final = "dirindex"

_SHELLS: Final = frozenset(
    "bash shell shellcommand localshell localshellcall execcommand exec containerexec runshellcommand runcommand "
    "runterminalcmd terminal".split()
)

_WORDS: Final = (
    ("web", ToolKind.WEB),
    ("grep", ToolKind.GREP),
    ("search", ToolKind.SEARCH),
    ("readfile", ToolKind.READ),
)


def tool_call(name: str, arguments: object, *, time: str = "", is_aside: bool = False) -> ToolCall:
    """Return a tool call with its arguments: an object, or a text that may be one in JSON."""
    if isinstance(arguments, str):
        inner = parse_json(arguments) if arguments.lstrip().startswith("{") else None
        fields = inner if isinstance(inner, dict) else {"input": arguments}
    else:
        fields = arguments if isinstance(arguments, dict) else {}
    command = _command(fields)
    about = command or text_at(fields, *_ABOUT)
    kind = kind_of_call(name, command)
    return ToolCall(single_line(name), kind, shorten(single_line(about), _MAX_ABOUT), time, is_aside=is_aside)


class WaitingCalls:
    """The calls of a session whose results are still missing; beyond a limit the oldest are taken to have none."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCall] = {}

    def begin(self, call_id: str, call: ToolCall) -> Iterator[ToolCall]:
        """Add a call; yield the oldest one if there are too many."""
        if call_id in self._calls or not call_id:
            return  # a repeated record, or a call that no result can refer to
        self._calls[call_id] = call
        if len(self._calls) > _MAX_WAITING:
            yield self._calls.pop(next(iter(self._calls)))

    def finish(self, call_id: str, result: object) -> Iterator[ToolCall]:
        """Yield the call that a result belongs to, if it is known."""
        if call := self._calls.pop(call_id, None):
            yield call._replace(n_result_bytes=n_bytes_of(result))

    def rest(self) -> Iterator[ToolCall]:
        """Yield the calls without a result."""
        yield from self._calls.values()
        self._calls.clear()


def kind_of_call(name: str, command: str) -> ToolKind:
    """Return the purpose of a tool call; `command` is that of a shell."""
    server, tool = _split_tool_name(name)
    if tool in _SHELLS:
        return kind_of_command(command)
    if kind := _KINDS.get(tool):
        return _OWN.get(tool, kind) if _OWN_SERVER in server else kind
    if _OWN_SERVER in server:
        return _OWN.get(tool, ToolKind.OTHER)
    return next((kind for word, kind in _WORDS if word in tool), ToolKind.OTHER)


def kind_of_command(command: str) -> ToolKind:
    """Return the purpose of a command line, by its first program that does more than change directories."""
    for part in _SEPARATOR.split(command[:_MAX_COMMAND]):
        words = _ASSIGNMENTS.sub("", part.strip(" \t(\"'")).split()
        program = words[0].rpartition("/")[2] if words else ""
        if not program or program in _PREPARATIONS:
            continue
        return _kind_of_program(program, words[1] if len(words) > 1 else "")
    return ToolKind.SHELL


def _command(fields: Record) -> str:
    value = fields.get("command", fields.get("cmd"))
    if isinstance(value, list):  # bash -lc "what is meant"
        words = [word for word in value if isinstance(word, str)]
        return words[-1] if words[:1] and words[0].rpartition("/")[2] in _SHELL_PROGRAMS else " ".join(words)
    return value if isinstance(value, str) else ""


def _kind_of_program(program: str, argument: str) -> ToolKind:
    if program == "git":
        return ToolKind.GREP if argument == "grep" else ToolKind.SHELL
    if program == "sed":
        return ToolKind.READ if argument.startswith("-n") else ToolKind.EDIT if argument.startswith("-i") else _SHELL
    if program == _OWN_SERVER:
        return _OWN.get(argument, _SHELL)
    return _PROGRAMS.get(program, _SHELL)


def _split_tool_name(name: str) -> tuple[str, str]:
    """Split `mcp__server__tool` and `server.tool` into server and tool, in lower case and without punctuation."""
    server, _, tool = name.lower().replace("__", ".").rpartition(".")
    return server, _MARKS.sub("", tool)


def _kinds_by_name(names: Mapping[ToolKind, str]) -> dict[str, ToolKind]:
    return {name: kind for kind, words in names.items() for name in words.split()}


_OWN: Final = _kinds_by_name(
    {ToolKind.SEARCH: "search similar", ToolKind.GREP: "grep", ToolKind.READ: "get read", ToolKind.LIST: "outline"}
)

_KINDS: Final = _kinds_by_name(
    {
        ToolKind.SEARCH: "codebasesearch semanticsearch searchcode codesearch filesearch",
        ToolKind.GREP: "grep grepsearch searchfilecontent ripgrep rg searchfiles searchforpattern",
        ToolKind.READ: "read readfile readmanyfiles view viewimage notebookread cat openfile",
        ToolKind.LIST: "glob ls list listdir listdirectory findfiles findfile tree",
        ToolKind.EDIT: "edit multiedit write writefile replace applypatch patch notebookedit createfile strreplace "
        "strreplacebasededittool",
        ToolKind.WEB: "webfetch websearch webfetchtool googlewebsearch websearchcall fetch",
        ToolKind.AGENT: "task agent delegatetoagent spawnagent",
    }
)

_PROGRAMS: Final = _kinds_by_name(
    {
        ToolKind.SEARCH: "semble qmd colgrep ck mgrep osgrep",
        ToolKind.GREP: "grep egrep fgrep rg ag ack ugrep zgrep",
        ToolKind.READ: "cat head tail nl less more bat",
        ToolKind.LIST: "ls find fd tree",
        ToolKind.EDIT: "apply_patch patch tee",
        ToolKind.WEB: "curl wget",
    }
)
