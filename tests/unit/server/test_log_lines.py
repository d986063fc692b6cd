from __future__ import annotations

import logging
import sys

from directory_indexer.server.lifecycle import LineFormatter


def test_what_others_named_or_answered_neither_breaks_a_line_nor_moves_a_cursor() -> None:
    hostile = "a\x1b]0;b\x07\ndirindex serve: c\u202e"
    record = logging.LogRecord("dirindex", logging.INFO, "", 0, "%s failed", (hostile,), None)
    assert LineFormatter().format(record) == r"dirindex serve: a\x1b]0;b\x07\ndirindex serve: c\u202e failed"


def test_an_exception_has_its_lines_and_no_escapes() -> None:
    try:
        int("a\x1b[2Jb\u202e")
    except ValueError:
        record = logging.LogRecord("dirindex", logging.ERROR, "", 0, "failed", None, sys.exc_info())
    first, *trace = LineFormatter().format(record).split("\n")
    assert first == "dirindex serve: failed"
    assert trace[-1].startswith("ValueError: ")
    assert "\x1b" not in "".join(trace)
    assert "\u202e" not in "".join(trace)
