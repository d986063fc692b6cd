"""Parsing of stack traces, compiler and linter messages, and logs: places in files, and the message.

Nearly all of them contain a file name, a separator and a number. They differ in which end of a trace is the deepest,
and in which lines are the message: those that are neither frames nor the code shown beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from directory_indexer.core.lazy import lazily

with lazily:
    import textwrap


class Frame(NamedTuple):
    """A line of a file that a text names; `path` has slashes, and `context` is the text beside it.

    In a library, the last `n_telling` parts of the path identify the file of the library.
    """

    path: str
    line: int
    context: str = ""
    n_telling: int = 0


class Trace(NamedTuple):
    """The places that a text names, the deepest first, and its message if it is a stack trace, a report or a log."""

    frames: tuple[Frame, ...] = ()
    message: str = ""


def parse_trace(text: str) -> Trace:
    """Parse the places in a text; a single line has no message of its own."""
    lines = _plain_lines(text)
    frames = [(at, frame) for at, line in enumerate(lines) for frame in _frames_in(line, lines[at + 1 : at + 2])]
    is_trace = (
        bool(frames) and len(lines) > 1 and (len({at for at, _ in frames}) > 1 or bool(re.search(_TRACE_MARK, text)))
    )
    message_lines = list(_message_lines(lines, {at for at, _ in frames})) if is_trace else lines
    is_log = len(lines) >= _MIN_LOG_LINES and 2 * sum(map(_is_logged, text.splitlines())) > len(lines)
    message = "\n".join(_lines_from_failure(message_lines) if is_log else message_lines) if is_trace or is_log else ""
    return Trace(tuple(dict.fromkeys(_deepest_first(lines, frames)))[:_MAX_FRAMES], message)


def _is_logged(line: str) -> bool:
    return bool(re.match(_LOG_PREFIX, line) or re.match(_TIMESTAMP, line))


def _lines_from_failure(lines: Sequence[str]) -> list[str]:
    """Return the last lines of a log that report a failure, without timestamps and levels, or else its last line."""
    plain = list(dict.fromkeys(re.sub(_TIMESTAMP, "", line) for line in lines))
    return [line for line in plain if re.search(_FAILURE, line)][-_MAX_MESSAGES:] or plain[-1:]


def _plain_lines(text: str) -> list[str]:
    """Split a text into lines without the prefix of a logger; JSON escapes their ends."""
    if _ESCAPED_LINES.search(text):
        text = text.replace("\\r", "").replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(re.match(_LOG_PREFIX, line) for line in lines):
        lines = [re.sub(_LOG_PREFIX, "", line) for line in lines]
    return textwrap.dedent("\n".join(lines)).split("\n")


def _frames_in(line: str, following: Sequence[str]) -> Iterator[Frame]:
    context = _PLACE.sub(" ", line)
    if following and re.search(_PYTHON_FRAME, line):
        context = f"{context} {following[0]}"
    for place in _PLACE.finditer(line):
        path = place["path"].replace("\\", "/").removeprefix("./")
        before = line[max(place.start() - _MAX_METHOD_CHARS, 0) : place.start()]
        dotted = re.search(_JVM_METHOD, before) if re.fullmatch(_JVM_FILE, path) else None
        library = re.match(_LIBRARY, path)
        yield Frame(
            path=f"{_package_directory(dotted['name'])}{path}" if dotted else path,
            line=int(place["line"]),
            context=context,
            n_telling=path.count("/", library.end()) + 1 if library else 0,
        )


def _package_directory(method: str) -> str:
    """Return the package of a JVM method as the directory of its file."""
    parts = method.split(".")
    n_packages = next((at for at, part in enumerate(parts) if part[:1].isupper()), max(len(parts) - 2, 0))
    return "".join(f"{part}/" for part in parts[:n_packages])


def _deepest_first(lines: Sequence[str], frames: Sequence[tuple[int, Frame]]) -> list[Frame]:
    """Order frames by how near they are to the failure.

    Python and older Ruby print the deepest last; Java prints the cause of a failure after it, as a trace of its own.
    """
    text = "\n".join(lines)
    if re.search(_LAST_IS_DEEPEST, text) and not re.search(_FIRST_IS_DEEPEST, text):
        return [frame for _, frame in reversed(frames)]
    n_causes = list(accumulate(line.lstrip().startswith(_CAUSE_LINE) for line in lines))
    return [frame for _, frame in sorted(frames, key=lambda numbered: -n_causes[numbered[0]])]


def _message_lines(lines: Sequence[str], with_frames: set[int]) -> Iterator[str]:
    for at, line in enumerate(lines):
        text = re.sub(_FRAME_SYMBOLS, " ", _PLACE.sub(" ", line)) if at in with_frames else line
        is_inside = line[:1].isspace() and not re.search(_FAILURE, text)
        if is_inside or re.match(_NO_MESSAGE, line) or not re.search(_WORD, text):
            continue
        yield " ".join(re.sub(_ADDRESS, " ", text).split())


def last_failure_line(text: str) -> str:
    """Return the last line of a text that reports a failure, or else its last line."""
    lines = [line for line in text.splitlines() if re.search(_WORD, line)]
    failing = [line for line in lines if re.search(_FAILURE, line)]
    return (failing or lines or [""])[-1].strip()


_MAX_FRAMES: Final = 50
_MAX_MESSAGES: Final = 3
_MIN_LOG_LINES: Final = 3
_NAME: Final = r"[^\s\"'`()\[\]{}<>|*?:;,=]"
# A name is matched from its first letter only, so that a run of 20,000 letters takes linear time.
_PLACE: Final = re.compile(
    rf"""(?<!{_NAME})(?P<path>{_NAME}*\.[A-Za-z]\w{{0,9}})(?<!\.)(?:\?[\w=&.-]*)?
         (?:["']?,?[ ](?:on[ ]|at[ ])?line[ ]|:line[ ]|:[ ]line[ ]|:|\()(?P<line>[1-9]\d{{0,6}})(?!\d|\.\d)""",
    re.VERBOSE,
)
# Compiled when they are first needed: most questions hold no place in a file.
_JVM_METHOD: Final = r"(?<![\w$.])(?P<name>(?:[\w$]+\.)+[\w$<>]+)\(\Z"
_JVM_FILE: Final = r"\w+\.(?:java|kts?|scala|groovy|clj)"
_LIBRARY: Final = (
    r"(?:.*/)?(?:(?:site|dist)-packages|node_modules|gems/[^/]+/lib|pkg/mod|usr/(?:local/)?go/src|vendor"
    r"|lib(?:64)?/python[\d.]+|lib/ruby/[\d.]+|registry/src/[^/]+|rustc/\w+)/"
)
_MAX_METHOD_CHARS: Final = 500
_PYTHON_FRAME: Final = r'File "[^"]*", line \d'
_LAST_IS_DEEPEST: Final = r'(?m)most recent call last|^\s*File ".+", line \d'
_FIRST_IS_DEEPEST: Final = "most recent call first"
_CAUSE_LINE: Final = ("Caused by:", "[cause]:")
_TRACE_MARK: Final = (
    r'(?mi)^[ \t]+(?:at|from) |Traceback|File "[^"\n]+", line \d|panicked at|^goroutine \d|stack ?trace|backtrace'
    r"|^[ \t]*#\d+\s"
    r"|Sanitizer|\b(?:error|fatal|exception|warning)\b|Error\b|Exception\b| at \S+ line \d| on line \d"
)
_ESCAPED_LINES: Final = re.compile(r"\\n(?:\s|\\t)*(?:at |File |from |#\d)")
_LOG_PREFIX: Final = (
    r"(?:[\w.-]+\s+\| ?|\w{3} [ \d]\d [\d:]{8} \S+ \S+?\[\d+\]: ?|\d{4}-\d\d-\d\dT[\d:.]+Z? (?:std(?:out|err) [FP] )?)"
)
_TIMESTAMP: Final = (
    r"\W{0,2}(?:(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\w{3} [ \d]?\d )?\d\d:\d\d:\d\d\S{0,40}\s+\W?(?:[A-Z]{4,8}\b\W*)?"
    r"|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b\W*)"
)
_FRAME_SYMBOLS: Final = r":\d+(?=[:\s]|$)|:?in [`'][^`']*'|^\S*@|\b(?:at|in|thrown)\s*(?=$|\s{2})|-->"
_NO_MESSAGE: Final = r"""(?x)
        \s*(?:at\ |from\ |in\ |\#\d+\s|frame\ \#|File\ "|\d+:\s|[^\s@]*+@\S+:\d+|Traceback\ |goroutine\ \d|
        created\ by\ |During\ handling|The\ above\ exception|\[?[Ss]tack\ ?trace|stack\ backtrace|note:\ |
        \.\.\.\ \d+|---|thrown\ in\ |\([\w.-]+(?:\ [\d.]+)?\)\ |exit\ status\ |Node\.js\ v|
        [\w./*()-]+\((?=[^()\s]*0x)[^()]*+\)?\s*$|=+\s*$)"""
_FAILURE: Final = (
    r"(?i:error|exception|fatal|panic|fail|abort|denied|refused|cannot|can't|could not|no such|not found|undefined"
    r"|unexpected|invalid|segmentation|timed? ?out|violat|killed|crash)"
)
_WORD: Final = r"[^\W\d_]{2}"
_ADDRESS: Final = r"\b0x[0-9a-fA-F]+\b"
