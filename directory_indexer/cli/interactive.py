"""Search as somebody types, in the terminal itself: the query, the hits, and the passage of the one that is selected.

It needs a terminal of POSIX and no other program. What is drawn is made of the same lines as any answer.
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

from directory_indexer.cli.viewing import open_hit
from directory_indexer.errors import DirIndexError, UsageError
from directory_indexer.lazy import lazily
from directory_indexer.paths import exact_text
from directory_indexer.render.answers import passage_lines, without_near_misses
from directory_indexer.render.heads import head_line
from directory_indexer.render.printable import PathStyle
from directory_indexer.render.quantities import count
from directory_indexer.render.spans import Line, Span, Style, line
from directory_indexer.render.terminal import frame
from directory_indexer.searching.answers import Hit, SearchResult

with lazily:
    import termios
    import tty


class Key(StrEnum):
    """What a key does that is no character of a query."""

    UP = auto()
    DOWN = auto()
    PAGE_UP = auto()
    PAGE_DOWN = auto()
    ERASE = auto()
    ERASE_WORD = auto()
    CLEAR = auto()
    OPEN = auto()
    TAKE = auto()
    QUIT = auto()


class Listing(NamedTuple):
    """The query as far as it is typed, its hits, and which of them is selected."""

    query: str = ""
    hits: tuple[Hit, ...] = ()
    selected: int = 0
    note: str = ""

    @property
    def hit(self) -> Hit | None:
        """The hit that is selected."""
        return self.hits[self.selected] if self.hits else None

    def after(self, key: Key | str) -> Listing:
        """Return what a key makes of it; a key that moves nothing leaves it as it is."""
        if isinstance(key, Key):
            if step := _STEPS.get(key):
                last = max(len(self.hits) - 1, 0)
                return self._replace(selected=min(max(self.selected + step, 0), last))
            erased = _ERASED.get(key)
            return self._replace(query=erased.sub("", self.query)) if erased else self
        return self._replace(query=self.query + key)


def interact(find: Callable[[str], SearchResult], *, query: str, paths: PathStyle, environ: Mapping[str, str]) -> str:
    """Search for what is typed until somebody leaves; return the place that was taken, or "".

    Raises:
        UsageError: there is no terminal to type at.
    """
    listing, searched = Listing(query), ""
    with _Terminal.opened() as terminal:
        while True:
            is_waiting = listing.query != searched and bool(listing.query.strip())
            terminal.draw(listing._replace(note="searching …") if is_waiting else listing, paths, environ)
            if listing.query != searched and not terminal.has_input():
                listing, searched = _found(listing, find), listing.query
                terminal.draw(listing, paths, environ)
            for key in keys_in(terminal.typed()):
                if key is Key.QUIT:
                    return ""
                if key is Key.TAKE and listing.hit:
                    return f"{exact_text(listing.hit.path)}:{listing.hit.excerpt.line}"
                if key is Key.OPEN and listing.hit:
                    with terminal.left():
                        listing = listing._replace(note=_trouble_opening(listing.hit))
                else:
                    listing = listing.after(key)


def keys_in(typed: str) -> Iterator[Key | str]:
    """Yield the keys of what a terminal sent; sequences of keys that mean nothing here are passed over."""
    for pressed in _PRESSED.findall(typed):
        if pressed in _KEYS:
            yield _KEYS[pressed]
        elif pressed.isprintable():
            yield pressed


def _found(listing: Listing, find: Callable[[str], SearchResult]) -> Listing:
    if not listing.query.strip():
        return Listing(listing.query)
    try:
        result, _ = without_near_misses(find(listing.query))
    except DirIndexError as error:
        return Listing(listing.query, note=error.message)
    notes = [one.note for one in result.corrections] + [note for note in result.degraded if note not in result.standing]
    weak = ["nothing matches well"] if result.is_weak else []
    return Listing(listing.query, result.hits, note="; ".join([*weak, *notes]))


def _trouble_opening(hit: Hit) -> str:
    try:
        open_hit([hit], 1)
    except DirIndexError as error:
        return "; ".join(filter(None, (error.message, error.hint)))
    return ""


class _Terminal:
    """A terminal that sends each key at once, and shows a screen of ours instead of its own."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._before = termios.tcgetattr(descriptor)
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
    def left(self) -> Iterator[None]:
        """Give the terminal to another program for a while."""
        self._leave()
        try:
            yield
        finally:
            self._enter()

    def has_input(self) -> bool:
        """Whether somebody types on before it is worth searching."""
        return bool(select.select([self._descriptor], [], [], _PAUSE_SECONDS)[0])

    def typed(self) -> str:
        """Wait for keys, or until the terminal has another size; what ends reads like the key that quits."""
        size = shutil.get_terminal_size()
        while not select.select([self._descriptor], [], [], _LOOK_SECONDS)[0]:
            if shutil.get_terminal_size() != size:
                return ""
        with contextlib.suppress(OSError):
            if sent := os.read(self._descriptor, _READ_BYTES):
                return self._decoder.decode(sent)
        return _END

    def draw(self, listing: Listing, paths: PathStyle, environ: Mapping[str, str]) -> None:
        columns, rows = shutil.get_terminal_size()
        lines = screen_lines(listing, paths=paths, columns=columns, rows=rows)
        sys.stdout.write(frame(lines, width=columns, height=rows, environ=environ))
        sys.stdout.flush()

    def _enter(self) -> None:
        tty.setraw(self._descriptor)
        sys.stdout.write("\x1b[?1049h\x1b[?7l")  # the other screen, on which no line is broken

    def _leave(self) -> None:
        sys.stdout.write("\x1b[?7h\x1b[?1049l")
        sys.stdout.flush()
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)


def screen_lines(listing: Listing, *, paths: PathStyle, columns: int, rows: int) -> Iterator[Line]:
    """Show the query, some hits around the selected one, and its passage below them."""
    yield line(Span("> ", Style.NOTE), listing.query[-max(columns - len(">  "), 1) :])
    most = max((rows - _FRAME_ROWS) // _LIST_SHARE, 1)
    first = min(max(listing.selected - most + 1, 0), max(len(listing.hits) - most, 0))
    for number, hit in enumerate(listing.hits[first : first + most], first):
        head = head_line(number + 1, hit, paths=paths, has_score=False)
        is_selected = number == listing.selected
        yield head._replace(spans=(Span("> " if is_selected else "  ", Style.MATCH), *head.spans))
    yield line(Span(listing.note or _state(listing), Style.NOTE))
    if selected := listing.hit:
        # Its text, even if its name alone matches.
        shown = selected._replace(named=None) if selected.is_passage else selected
        yield from passage_lines(shown, max(rows - min(len(listing.hits), most) - _FRAME_ROWS, 1))


def _state(listing: Listing) -> str:
    if not listing.query.strip():
        return "type a question or words; Esc leaves"
    if not listing.hits:
        return "nothing found"
    return f"{count(len(listing.hits), 'hit')}; arrows select, Enter opens, Tab prints the place, Esc leaves"


_PAUSE_SECONDS: Final = 0.06
_LOOK_SECONDS: Final = 0.25
_READ_BYTES: Final = 4096
_PAGE: Final = 10
_FRAME_ROWS: Final = 2
_LIST_SHARE: Final = 2
_END: Final = "\x04"
_PRESSED: Final = re.compile(r"\x1b(?:\[[0-9;<?]*[ -/]*[@-~]|O[A-Za-z])|[\s\S]")
_KEYS: Final = {
    **dict.fromkeys(("\x1b[A", "\x1bOA", "\x10"), Key.UP),
    **dict.fromkeys(("\x1b[B", "\x1bOB", "\x0e"), Key.DOWN),
    "\x1b[5~": Key.PAGE_UP,
    "\x1b[6~": Key.PAGE_DOWN,
    **dict.fromkeys(("\x7f", "\x08"), Key.ERASE),
    "\x17": Key.ERASE_WORD,
    "\x15": Key.CLEAR,
    **dict.fromkeys(("\r", "\n"), Key.OPEN),
    "\t": Key.TAKE,
    **dict.fromkeys(("\x1b", "\x03", _END), Key.QUIT),
}
_STEPS: Final = {Key.UP: -1, Key.DOWN: 1, Key.PAGE_UP: -_PAGE, Key.PAGE_DOWN: _PAGE}
_ERASED: Final = {
    Key.ERASE: re.compile(r"(?s).\Z"),
    Key.ERASE_WORD: re.compile(r"\S*\s*\Z"),
    Key.CLEAR: re.compile(r"(?s).*"),
}
"""What each of them takes away."""
