"""Lines with colour and links for a terminal, and the live display of a run. The only module that imports rich.

Only the sixteen colours of the terminal's own scheme are used, and none carries a meaning that the words do not. Plain
blue is left out, since it is hard to read on black.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, chain, takewhile
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.style import Style as RichStyle
from rich.table import Table
from rich.text import Text

from directory_indexer.chunking.chunks import HEADING_SEPARATOR
from directory_indexer.storage.documents.runs import RunProgress
from directory_indexer.text.formatting import Line, Span, Style, printable
from directory_indexer.text.progress import (
    IndexSteps,
    Pace,
    PaceMeter,
    progress_details,
    progress_headline,
    work_of,
)

_STYLES = {
    Style.PLAIN: RichStyle(),
    Style.PATH: RichStyle(color="magenta"),
    Style.SHORTENED_PATH: RichStyle(color="magenta"),
    Style.NAME: RichStyle(),
    Style.MATCH: RichStyle(color="red", bold=True, underline=True),
    Style.PLACE: RichStyle(color="cyan"),
    Style.NUMBER: RichStyle(color="green"),
    Style.NOTE: RichStyle(dim=True),
    Style.GOOD: RichStyle(color="green"),
    Style.WARNING: RichStyle(color="yellow", bold=True),
    Style.PROBLEM: RichStyle(color="red", bold=True),
    Style.KEYWORD: RichStyle(color="bright_blue"),
    Style.LITERAL: RichStyle(color="green"),
    Style.DEFINITION: RichStyle(bold=True),
}
_REFRESHES_A_SECOND = 5
_MIN_WIDTH = 20
_STOPPING = "stopping after the current batch; nothing that was read is lost"
_TAB_SIZE = 4


def styled(lines: Iterable[Line], *, width: int, environ: Mapping[str, str]) -> str:
    """Format lines for a terminal; indented ones wrap below their indentation."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=True,
        color_system="standard",
        no_color=bool(environ.get("NO_COLOR")),
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for line in lines:
        if not line.indent:
            # The terminal wraps the line, so that a path can be copied and clicked as a whole.
            console.print(_rich_text(*_fit_to_width(line.spans, width)), soft_wrap=True)
            continue
        head, body = _rich_text(line.head), _rich_text(*line.spans)
        for part in body.wrap(console, max(width - line.indent, _MIN_WIDTH)) or [body]:
            head.pad_right(line.indent - head.cell_len)
            console.print(head.append_text(part), soft_wrap=True)
            head = Text()
    return out.getvalue()


def frame(lines: Iterable[Line], *, width: int, height: int, environ: Mapping[str, str]) -> str:
    """Return the escape sequences that draw lines over the whole screen, cut at its height.

    The cursor ends after the first line.
    """
    rows = styled(lines, width=width, environ=environ).removesuffix("\n").split("\n")[:height]
    # Each row is cleared before it is written: clearing afterwards would erase the last character of a full row.
    drawn = "\r\n".join(f"\x1b[2K{row}" for row in rows)
    rest = "\r\n\x1b[J" if len(rows) < height else ""
    return f"\x1b[H{drawn}{rest}\x1b[H{rows[0]}"


class LiveProgress:
    """The live display of a run on a terminal, with its `steps` if any; called with its progress.

    rich renders it in a thread of its own.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        clock: Callable[[], float],
        steps: IndexSteps | None = None,
        must_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._clock = clock
        self._meter = PaceMeter()
        self._steps = steps
        self._must_stop = must_stop
        self._latest: tuple[RunProgress, Pace] | None = None
        live = Live(
            get_renderable=self._renderable,
            console=Console(file=stream, force_terminal=True, highlight=False),
            transient=True,
            refresh_per_second=_REFRESHES_A_SECOND,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self.show, self.hide = live.start, live.stop

    def __call__(self, progress: RunProgress) -> None:
        """Record the progress of the run."""
        if self._steps:
            self._steps.observe(progress)
        self._latest = (progress, self._meter.observe(progress, at=self._clock()))

    def _renderable(self) -> Group:
        if not self._latest:
            return Group()
        advice = _STOPPING if self._must_stop() else self._steps.hint if self._steps else ""
        return progress_display(*self._latest, at=self._clock(), steps=self._steps, advice=advice)


def progress_display(
    progress: RunProgress, pace: Pace, *, at: float, steps: IndexSteps | None = None, advice: str = ""
) -> Group:
    """Return the display of a run: completed steps, the current one with a moving bar, details and advice below it."""
    completed, work = steps.completed if steps else (), work_of(progress)
    name = steps.name if steps else progress.phase.description
    width = max(len(step) for step in (name, *dict(completed)))
    above = [Text(f"{step.ljust(width)} {result}", style=_STYLES[Style.GOOD]) for step, result in completed]
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(width=width)
    grid.add_column(ratio=1)
    grid.add_column(justify="right", no_wrap=True, min_width=len("10 %, about 9 h 50 min left"))
    bar = ProgressBar(total=work.total or None, completed=work.done, pulse=not work.done, animation_time=at)
    grid.add_row(Text(name), bar, Text(progress_headline(progress, pace)))
    below = (progress_details(progress, pace), advice)
    notes = [Text(note, style=_STYLES[Style.NOTE], no_wrap=True, overflow="ellipsis") for note in below if note]
    return Group(*above, grid, *notes)


def _rich_text(*spans: Span) -> Text:
    text = Text.assemble(*((printable(span.text), _rich_style(span)) for span in spans), tab_size=_TAB_SIZE)
    text.rstrip()
    return text


def _fit_to_width(spans: Sequence[Span], width: int) -> list[Span]:
    """Shorten headings, names and paths of hits until a line fits; its first span stays whole."""
    fitted = [span._replace(text=printable(span.text).expandtabs(_TAB_SIZE)) for span in spans]
    for style, least, shortened in _SHORTENERS:
        for number, span in enumerate(fitted[1:], 1):
            excess = cell_len("".join(part.text for part in fitted).rstrip()) - width
            if excess > 0 and span.style is style:
                n_cells = cell_len(span.text)
                room = max(n_cells - excess, min(least, n_cells))
                fitted[number] = span._replace(text=shortened(span.text, room))
    return fitted


def _heading_within(heading: str, room: int) -> str:
    """Drop outer headings first, then the end of the innermost one."""
    if cell_len(heading) <= room:
        return heading
    indent = heading[: len(heading) - len(heading.lstrip())]
    headings = heading.strip().split(HEADING_SEPARATOR)
    # Starts at the innermost: of a hundred thousand headings, only as many are joined as fit.
    shorter = (f"{indent}…{HEADING_SEPARATOR}{HEADING_SEPARATOR.join(headings[-n:])}" for n in range(1, len(headings)))
    innermost = next(shorter, heading)
    *_, fitting = "", *takewhile(lambda text: cell_len(text) <= room, chain([innermost], shorter))
    return fitting or (_beginning_within(innermost, room) if room >= _MIN_HEADING_CHARS else "")


def _beginning_within(name: str, room: int) -> str:
    text = Text(name)
    text.truncate(room, overflow="ellipsis")
    return text.plain


def _directories_within(path: str, room: int) -> str:
    """Drop directories, those of a container before those in it, and keep all names of containers and members."""
    if cell_len(path) <= room:
        return path
    container, *members = path.split("!/")
    directories, separator, name = container.rpartition("/")
    names = "!/".join([f"{separator}{name}", *members])
    n_cells = room - cell_len(names) - 1
    if n_cells >= 0 or not members:
        kept = set_cell_size(directories, max(n_cells, 0)).rstrip()
        return f"{kept}…{names}" if directories else path
    *outer, last = members
    names = "!/".join([f"{separator}{name}", *(member.rpartition("/")[2] for member in outer), ""])
    beginning = "…" if directories else ""
    name_cells = cell_len(last.rpartition("/")[2]) + len("…/")
    return f"{beginning}{names}{_end_within(last, max(room - cell_len(f'{beginning}{names}'), name_cells))}"


def _path_within(path: str, room: int) -> str:
    """Drop the middle of a path, and keep its last component, of a member also the name of its container."""
    if cell_len(path) <= room:
        return path
    container, mark, member = path.rpartition("!/")
    directories, separator, name = (container if mark else path).rpartition("/")
    name = f"{separator}{name}{mark}"
    n_cells = room - cell_len(name) - 1
    if mark and n_cells > _MIN_MEMBER_CHARS:
        member = _end_within(member, n_cells)
    name, n_cells = f"{name}{member if mark else ''}", n_cells - (cell_len(member) if mark else 0)
    if directories and n_cells >= 0:
        return f"{set_cell_size(directories, n_cells).rstrip(' …')}…{name}"
    return _end_within(f"{directories}{name}", room)


def _end_within(text: str, room: int) -> str:
    if cell_len(text) <= room:
        return text
    widths = accumulate(map(cell_len, reversed(text)))
    n_kept = sum(1 for _ in takewhile(lambda width: width < room, widths))
    return f"…{text[len(text) - n_kept :]}"


_MIN_HEADING_CHARS = 16
_MIN_PATH_CHARS = 32
_MIN_MEMBER_CHARS = 12
_MIN_NAME_CHARS = 20
_SHORTENERS: Sequence[tuple[Style, int, Callable[[str, int], str]]] = (
    (Style.PLACE, _MIN_HEADING_CHARS, _heading_within),
    (Style.SHORTENED_PATH, _MIN_PATH_CHARS, _directories_within),
    (Style.PLACE, 0, _heading_within),
    (Style.SHORTENED_PATH, _MIN_PATH_CHARS, _path_within),
    (Style.NAME, _MIN_NAME_CHARS, _beginning_within),
    (Style.SHORTENED_PATH, _MIN_WIDTH // 2, _path_within),
)
"""Styles that are shortened, in this order, and the minimum width of each."""


def _rich_style(span: Span) -> RichStyle:
    return _STYLES[span.style] + RichStyle(link=span.link) if span.link else _STYLES[span.style]
