"""Calls of tools on their way: what was called waits for what it gave, which comes later in the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from directory_indexer.extractors.outline import one_line
from directory_indexer.extractors.transcripts.events import ToolCall
from directory_indexer.extractors.transcripts.json_values import Record, n_bytes_of, parsed, text_at
from directory_indexer.extractors.transcripts.noise import shortened
from directory_indexer.extractors.transcripts.tool_kinds import kind_of_call


def tool_call(name: str, arguments: object, *, time: str = "", is_aside: bool = False) -> ToolCall:
    """Make a call of what a tool was called with: an object, or a text that may be one in JSON."""
    if isinstance(arguments, str):
        inner = parsed(arguments) if arguments.lstrip().startswith("{") else None
        given = inner if isinstance(inner, dict) else {"input": arguments}
    else:
        given = arguments if isinstance(arguments, dict) else {}
    command = _command(given)
    about = command or text_at(given, *_ABOUT)
    kind = kind_of_call(name, command)
    return ToolCall(one_line(name), kind, shortened(one_line(about), _MAX_ABOUT), time, is_aside=is_aside)


class WaitingCalls:
    """The calls of a session whose results have not come yet; beyond a bound the oldest are taken to have none."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCall] = {}

    def begin(self, call_id: str, call: ToolCall) -> Iterator[ToolCall]:
        """Note a call; yield one that is not waited for any longer."""
        if call_id in self._calls or not call_id:
            return  # a record that was written twice, or a call that no result can name
        self._calls[call_id] = call
        if len(self._calls) > _MOST_WAITING:
            yield self._calls.pop(next(iter(self._calls)))

    def finish(self, call_id: str, result: object) -> Iterator[ToolCall]:
        """Yield the call that gave a result, if it was noted."""
        if call := self._calls.pop(call_id, None):
            yield call._replace(n_result_bytes=n_bytes_of(result))

    def rest(self) -> Iterator[ToolCall]:
        """Yield the calls without a result."""
        yield from self._calls.values()
        self._calls.clear()


def _command(given: Record) -> str:
    value = given.get("command", given.get("cmd"))
    if isinstance(value, list):  # bash -lc "what is meant"
        words = [word for word in value if isinstance(word, str)]
        return words[-1] if words[:1] and words[0].rpartition("/")[2] in _SHELLS else " ".join(words)
    return value if isinstance(value, str) else ""


_MOST_WAITING: Final = 1_000
_MAX_ABOUT: Final = 120
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "powershell", "pwsh"})
_ABOUT: Final = (
    *("file_path", "filePath", "absolute_path", "pattern", "query", "path", "url", "description", "prompt", "input"),
)
