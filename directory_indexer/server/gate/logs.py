"""Log of a server, as text lines for people or as JSON for programs.

The JSON log contains no query, no path and no text of a file: of records of this program, it has the message template
without its arguments; of records of libraries, the place in the code; of exceptions, the type and the lines of the
traceback. Telemetry gets the same.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from enum import StrEnum
from types import TracebackType
from typing import Final

from directory_indexer.server.gate.visits import Visit, request_id
from directory_indexer.server.log_lines import LogLines, log_lines
from directory_indexer.telemetry import spans
from directory_indexer.telemetry.spans import Recorder

REQUESTS: Final = logging.getLogger("dirindex.serve.requests")
_OWN = "dirindex"
_FACTS = "facts"


class LogFormat(StrEnum):
    """The format of the log."""

    TEXT = "text"
    JSON = "json"


def start_logging(log_format: LogFormat, *, verbose: bool) -> None:
    """Log to standard error; requests are logged in JSON, or in text if `verbose`."""
    level = logging.INFO if verbose else logging.WARNING
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(log_format))
    handler.setLevel(logging.INFO if log_format is LogFormat.JSON else level)
    handlers: list[logging.Handler] = [handler]
    if recorder := spans.recorder():
        handlers.append(_TelemetryHandler(recorder))
    logging.basicConfig(level=level, handlers=handlers)
    if log_format is LogFormat.JSON or recorder:
        REQUESTS.setLevel(logging.INFO)


def formatter(log_format: LogFormat) -> logging.Formatter:
    """Return the formatter of a log format."""
    return _JsonFormatter() if log_format is LogFormat.JSON else _TextFormatter()


def log_request(context: Visit, *, method: str, seconds: float) -> None:
    """Log the outcome of a request."""
    facts = {
        "method": method,
        "route": context.route.template,
        "status": context.status,
        "ms": round(seconds * 1000, 2),
        "bytes_in": context.bytes_in,
        "bytes_out": context.bytes_out,
        "key": context.key.name if context.key else "",
        **({"refusal": context.refusal} if context.refusal else {}),
    }
    REQUESTS.info("request", extra={_FACTS: facts})


class _TextFormatter(LogLines):
    def format(self, record: logging.LogRecord) -> str:
        facts = getattr(record, _FACTS, {})
        message = " ".join([record.getMessage(), *(f"{name}={value}" for name, value in facts.items())])
        request = f" [{request_id.get()}]" if request_id.get() else ""
        return log_lines(f"dirindex serve{request}", message, self.traceback_of(record))


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "event": _event(record),
            **_facts(record),
        }
        if trace_id := spans.trace_id():
            line["trace_id"] = trace_id
        return json.dumps(line, separators=(",", ":"))


class _TelemetryHandler(logging.Handler):
    """Forwards log records to telemetry."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def emit(self, record: logging.LogRecord) -> None:
        self._recorder.line(record.levelno, _event(record), _facts(record))


def _event(record: logging.LogRecord) -> str:
    is_own = record.name.partition(".")[0] == _OWN
    return str(record.msg) if is_own else f"{record.name} at {record.module}:{record.lineno}"


def _facts(record: logging.LogRecord) -> dict[str, object]:
    facts: dict[str, object] = {"request_id": request_id.get()} if request_id.get() else {}
    facts |= getattr(record, _FACTS, {})
    if record.exc_info and record.exc_info[0]:
        facts |= {"exception": record.exc_info[0].__qualname__, "raised_at": _traceback_lines(record.exc_info[2])}
    return facts


def _traceback_lines(frames: TracebackType | None) -> list[str]:
    return [f"{frame.f_globals.get('__name__')}:{line}" for frame, line in traceback.walk_tb(frames)]
