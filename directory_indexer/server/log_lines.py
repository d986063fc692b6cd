"""Log lines of a server: one per event, with the control characters and line breaks of untrusted text escaped."""

from __future__ import annotations

import logging

from directory_indexer.text.formatting import printable


def log_to_stderr(*, verbose: bool) -> None:
    """Log to standard error: warnings and above, or from `INFO` on with `verbose`."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


class LineFormatter(logging.Formatter):
    """Formats each event as one line, followed by the lines of its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Format an event."""
        return format_log_lines("dirindex serve", record.getMessage(), self.traceback_of(record))

    def traceback_of(self, record: logging.LogRecord) -> str:
        """Return the traceback of an event; empty if there is none."""
        return self.formatException(record.exc_info) if record.exc_info else ""


def format_log_lines(sender: str, message: str, trace: str = "") -> str:
    """Format a message with its sender, and a traceback."""
    return "\n".join([f"{sender}: {printable(message)}", *map(printable, trace.splitlines())])
