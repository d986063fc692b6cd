"""Tool calls that wait for their results, which come later in the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from directory_indexer.extractors.outline import one_line
from directory_indexer.extractors.transcripts.events import ToolCall
from directory_indexer.extractors.transcripts.json_values import Record, n_bytes_of, parse_json, text_at
from directory_indexer.extractors.transcripts.noise import shortened
from directory_indexer.extractors.transcripts.tool_kinds import kind_of_call


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
    return ToolCall(one_line(name), kind, shortened(one_line(about), _MAX_ABOUT), time, is_aside=is_aside)


class WaitingCalls:
    """The calls of a session whose results are still missing; beyond a limit the oldest are taken to have none."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCall] = {}

    def begin(self, call_id: str, call: ToolCall) -> Iterator[ToolCall]:
        """Add a call; yield the oldest one if there are too many."""
        if call_id in self._calls or not call_id:
            return  # a repeated record, or a call that no result can refer to
        self._calls[call_id] = call
        if len(self._calls) > _MOST_WAITING:
            yield self._calls.pop(next(iter(self._calls)))

    def finish(self, call_id: str, result: object) -> Iterator[ToolCall]:
        """Yield the call that a result belongs to, if it is known."""
        if call := self._calls.pop(call_id, None):
            yield call._replace(n_result_bytes=n_bytes_of(result))

    def rest(self) -> Iterator[ToolCall]:
        """Yield the calls without a result."""
        yield from self._calls.values()
        self._calls.clear()


def _command(fields: Record) -> str:
    value = fields.get("command", fields.get("cmd"))
    if isinstance(value, list):  # bash -lc "what is meant"
        words = [word for word in value if isinstance(word, str)]
        return words[-1] if words[:1] and words[0].rpartition("/")[2] in _SHELL_PROGRAMS else " ".join(words)
    return value if isinstance(value, str) else ""


_MOST_WAITING: Final = 1_000
_MAX_ABOUT: Final = 120
_SHELL_PROGRAMS: Final = frozenset({"bash", "sh", "zsh", "powershell", "pwsh"})
_ABOUT: Final = (
    *("file_path", "filePath", "absolute_path", "pattern", "query", "path", "url", "description", "prompt", "input"),
)
