"""Interactive search in the terminal: the query, its hits, and a preview of the selected hit.

It needs a POSIX terminal and no other program, and formats hits with the same code as every other output.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import select
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum, auto
from typing import Final, NamedTuple

from directory_indexer.cli.caller import current_caller
from directory_indexer.cli.results import open_hit
from directory_indexer.core.errors import DirIndexError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import exact_text
from directory_indexer.search.requests import Hit, SearchResult
from directory_indexer.text.excerpts import head_line
from directory_indexer.text.formatting import Line, PathStyle, Span, Style, count, line, printable
from directory_indexer.text.results import passage_lines, without_near_misses
from directory_indexer.text.terminal import frame

with lazily:
    import termios
    import tty


class Key(StrEnum):
    """Keys that edit the query, move the selection or act on it."""

    UP = auto()
    DOWN = auto()
    PAGE_UP = auto()
    PAGE_DOWN = auto()
    ERASE = auto()
    ERASE_WORD = auto()
    CLEAR = auto()
    OPEN = auto()
    ACCEPT = auto()
    QUIT = auto()


class Listing(NamedTuple):
    """The query typed so far, its hits, and the index of the selected one."""

    query: str = ""
    hits: tuple[Hit, ...] = ()
    selected: int = 0
    note: str = ""

    @property
    def hit(self) -> Hit | None:
        """The selected hit."""
        return self.hits[self.selected] if self.hits else None

    def after(self, key: Key | str) -> Listing:
        """Return the listing after a key or character was typed."""
        if isinstance(key, Key):
            if step := _STEPS.get(key):
                last = max(len(self.hits) - 1, 0)
                return self._replace(selected=min(max(self.selected + step, 0), last))
            pattern = _ERASED.get(key)
            return self._replace(query=pattern.sub("", self.query)) if pattern else self
        return self._replace(query=(self.query + key)[:_MAX_QUERY_CHARS])


def interact(find: Callable[[str], SearchResult], *, query: str, paths: PathStyle, environ: Mapping[str, str]) -> str:
    """Search as the user types; return `path:line` of the accepted hit, or "" after quitting.

    Raises:
        UsageError: standard input or output is no terminal.
    """
    current_caller().require_same_process()
    listing, searched = Listing(query), ""
    with _Terminal.opened() as terminal:
        while True:
            is_waiting = listing.query != searched and bool(listing.query.strip())
            terminal.draw(listing._replace(note="searching …") if is_waiting else listing, paths, environ)
            if listing.query != searched and not terminal.has_input():
                listing, searched = _searched(listing, find), listing.query
                terminal.draw(listing, paths, environ)
            for key in keys_in(terminal.read()):
                if key is Key.QUIT:
                    return ""
                if key is Key.ACCEPT and listing.hit:
                    return printed_place(listing.hit)
                if key is Key.OPEN and listing.hit:
                    with terminal.suspended():
                        listing = listing._replace(note=_opening_error(listing.hit))
                else:
                    listing = listing.after(key)


def keys_in(typed: str) -> Iterator[Key | str]:
    """Yield the keys and characters of terminal input, without control characters and unknown escape sequences."""
    for sequence in _SEQUENCE.findall(typed):
        if sequence in _KEYS:
            yield _KEYS[sequence]
        elif sequence.isprintable():
            yield sequence


def printed_place(hit: Hit) -> str:
    """Return the location of the accepted hit as `path:line`, escaped for the terminal at which it was selected."""
    return printable(f"{exact_text(hit.path)}:{hit.excerpt.line}")


def _searched(listing: Listing, find: Callable[[str], SearchResult]) -> Listing:
    if not listing.query.strip():
        return Listing(listing.query)
    try:
        result, _ = without_near_misses(find(listing.query))
    except DirIndexError as error:
        return Listing(listing.query, note=error.message)
    notes = [correction.note for correction in result.corrections] + [
        str(note) for note in result.notes if not note.is_standing
    ]
    weak = ["nothing matches well"] if result.is_weak else []
    return Listing(listing.query, result.hits, note="; ".join([*weak, *notes]))


def _opening_error(hit: Hit) -> str:
    try:
        open_hit([hit], 1)
    except DirIndexError as error:
        return "; ".join(filter(None, (error.message, error.hint)))
    return ""


class _Terminal:
    """The terminal in raw mode, on its alternate screen."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._settings = termios.tcgetattr(descriptor)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @staticmethod
    @contextlib.contextmanager
    def opened() -> Iterator[_Terminal]:
        if sys.platform == "win32" or not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("--interactive needs a terminal", hint="dirindex ui searches in the browser")
        terminal = _Terminal(sys.stdin.fileno())
        terminal._enter()
        try:
            yield terminal
        finally:
            terminal._leave()

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Restore the terminal while another program uses it."""
        self._leave()
        try:
            yield
        finally:
            self._enter()

    def has_input(self) -> bool:
        """Whether more is typed within the pause that precedes a search."""
        return bool(select.select([self._descriptor], [], [], _DEBOUNCE_SECONDS)[0])

    def read(self) -> str:
        """Return the next input: "" after a resize, and the key that quits at the end of input."""
        size = shutil.get_terminal_size()
        while not select.select([self._descriptor], [], [], _RESIZE_POLL_SECONDS)[0]:
            if shutil.get_terminal_size() != size:
                return ""
        with contextlib.suppress(OSError):
            if content := os.read(self._descriptor, _READ_BYTES):
                return self._decoder.decode(content)
        return _END_OF_INPUT

    def draw(self, listing: Listing, paths: PathStyle, environ: Mapping[str, str]) -> None:
        columns, rows = shutil.get_terminal_size()
        lines = screen_lines(listing, paths=paths, columns=columns, rows=rows)
        sys.stdout.write(frame(lines, width=columns, height=rows, environ=environ))
        sys.stdout.flush()

    def _enter(self) -> None:
        tty.setraw(self._descriptor)
        sys.stdout.write("\x1b[?1049h\x1b[?7l")  # the alternate screen, without line wrapping

    def _leave(self) -> None:
        sys.stdout.write("\x1b[?7h\x1b[?1049l")
        sys.stdout.flush()
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._settings)


def screen_lines(listing: Listing, *, paths: PathStyle, columns: int, rows: int) -> Iterator[Line]:
    """Yield the query, the hits around the selected one, and its passage."""
    yield line(Span("> ", Style.NOTE), listing.query[-max(columns - len(">  "), 1) :])
    n_listed = max((rows - _FRAME_ROWS) // _LIST_SHARE, 1)
    first = min(max(listing.selected - n_listed + 1, 0), max(len(listing.hits) - n_listed, 0))
    for number, hit in enumerate(listing.hits[first : first + n_listed], first):
        head = head_line(number + 1, hit, paths=paths, has_score=False)
        is_selected = number == listing.selected
        yield head._replace(spans=(Span("> " if is_selected else "  ", Style.MATCH), *head.spans))
    yield line(Span(listing.note or _status(listing), Style.NOTE))
    if selected := listing.hit:
        # A hit by name shows its text, too.
        preview = selected._replace(named=None) if selected.is_passage else selected
        yield from passage_lines(preview, max(rows - min(len(listing.hits), n_listed) - _FRAME_ROWS, 1))


def _status(listing: Listing) -> str:
    if not listing.query.strip():
        return "type a question or words; Esc quits"
    if not listing.hits:
        return "nothing found"
    return f"{count(len(listing.hits), 'hit')}; arrows select, Enter opens, Tab prints path and line, Esc quits"


_DEBOUNCE_SECONDS: Final = 0.06
_RESIZE_POLL_SECONDS: Final = 0.25
_READ_BYTES: Final = 4096
_PAGE: Final = 10
_MAX_QUERY_CHARS: Final = 4_000
"""Longer pasted text is cut: every key would copy and search all of it."""

_FRAME_ROWS: Final = 2
_LIST_SHARE: Final = 2
_END_OF_INPUT: Final = "\x04"
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-9;<?]*[ -/]*[@-~]|O[A-Za-z])|[\s\S]")
_KEYS: Final = {
    **dict.fromkeys(("\x1b[A", "\x1bOA", "\x10"), Key.UP),
    **dict.fromkeys(("\x1b[B", "\x1bOB", "\x0e"), Key.DOWN),
    "\x1b[5~": Key.PAGE_UP,
    "\x1b[6~": Key.PAGE_DOWN,
    **dict.fromkeys(("\x7f", "\x08"), Key.ERASE),
    "\x17": Key.ERASE_WORD,
    "\x15": Key.CLEAR,
    **dict.fromkeys(("\r", "\n"), Key.OPEN),
    "\t": Key.ACCEPT,
    **dict.fromkeys(("\x1b", "\x03", _END_OF_INPUT), Key.QUIT),
}
_STEPS: Final = {Key.UP: -1, Key.DOWN: 1, Key.PAGE_UP: -_PAGE, Key.PAGE_DOWN: _PAGE}
_ERASED: Final = {
    Key.ERASE: re.compile(r"(?s).\Z"),
    Key.ERASE_WORD: re.compile(r"\S*\s*\Z"),
    Key.CLEAR: re.compile(r"(?s).*"),
}
"""The part of the query that each key erases."""
