"""Lines of the log of a server: one an event, whatever escapes and line breaks are in what others named or answered."""

from __future__ import annotations

import logging

from directory_indexer.render.printable import printable


def log_to_stderr(*, verbose: bool) -> None:
    """Have events written to standard error: warnings and worse, or more."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogLines())
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


class LogLines(logging.Formatter):
    """Write each event on a line of its own, and below it the lines of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Write an event."""
        return log_lines("dirindex serve", record.getMessage(), self.trace_of(record))

    def trace_of(self, record: logging.LogRecord) -> str:
        """Give the lines of the exception of an event; nothing where there is none."""
        return self.formatException(record.exc_info) if record.exc_info else ""


def log_lines(who: str, message: str, trace: str = "") -> str:
    """Write what happened, by whom it is told, and the lines of an exception."""
    return "\n".join([f"{who}: {printable(message)}", *map(printable, trace.splitlines())])
