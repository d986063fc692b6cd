"""A stand-in for the command `tesseract`: it reads pages of `scanned_pages` on standard input, and does as it is told.

It keeps to the command's published interface: `--version`, `--list-langs`, `- - --dpi N -l LANG --psm N tsv`, which
writes a table of words, and `--psm 0 -l osd`, which writes how a page must be turned. Run with the directory of its
state as the first argument, it needs nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

COLUMNS, ROWS = 80, 112
"""A page is so many cells; each is dark or light, a bit of what is written on it."""

DARK, LIGHT = 96, 160
_IS_CELL = bytes(80 <= value <= 176 for value in range(256))
_HEADER = "level page_num block_num par_num line_num word_num left top width height conf text".replace(" ", "\t")


class Region(NamedTuple):
    """Where on a page the cells are."""

    left: int
    top: int
    width: int
    height: int


class Written(NamedTuple):
    """What is written on a page, and by how many degrees clockwise it must be turned to stand upright."""

    text: str
    turn: int
    region: Region
    language: str = "eng"
    confidence: int = 95


def cells_of(text: str, language: str = "eng", confidence: int = 95) -> list[int]:
    """Give the cells of a page from its upper left corner on: 1 where it is dark. The corners tell how it is turned."""
    content = json.dumps([text, language, confidence], ensure_ascii=False).encode()
    bits = [byte >> shift & 1 for byte in len(content).to_bytes(2, "big") + content for shift in range(7, -1, -1)]
    free = [at for at in range(COLUMNS * ROWS) if at not in _CORNERS]
    assert len(bits) <= len(free), f"{text!r} is too long for a page"
    cells = [0] * (COLUMNS * ROWS)
    cells[0] = 1
    for at, bit in zip(free, bits, strict=False):
        cells[at] = bit
    return cells


def written_on(width: int, height: int, samples: bytes) -> Written | None:
    """Read a page of grey pixels."""
    region = _region(width, height, samples)
    if region is None:
        return None
    for turn in (0, 90, 180, 270):
        cells = _cells(width, samples, region, turn)
        if [cells[at] for at in _CORNERS] == [1, 0, 0, 0]:
            return _decoded(cells, turn, region)
    return None


_CORNERS = (0, COLUMNS - 1, COLUMNS * (ROWS - 1), COLUMNS * ROWS - 1)


def _region(width: int, height: int, samples: bytes) -> Region | None:
    """Find the cells by their greys, which nothing else has."""
    is_cell = samples.translate(_IS_CELL)
    rows = [y for y in range(height) if is_cell.count(1, y * width, (y + 1) * width) > width // 4]
    if not rows:
        return None
    part = is_cell[rows[0] * width : (rows[-1] + 1) * width]
    columns = [x for x in range(width) if part[x::width].count(1) > len(rows) // 2]
    if not columns:
        return None
    return Region(columns[0], rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1)


def _cells(width: int, samples: bytes, region: Region, turn: int) -> list[int]:
    """Give the cells as they are when the page was turned clockwise by so many degrees."""
    cells = []
    for row in range(ROWS):
        for column in range(COLUMNS):
            u, v = (column + 0.5) / COLUMNS, (row + 0.5) / ROWS
            across, down = {0: (u, v), 90: (v, 1 - u), 180: (1 - u, 1 - v), 270: (1 - v, u)}[turn]
            x = region.left + int(across * region.width)
            y = region.top + int(down * region.height)
            cells.append(int(samples[y * width + x] < (DARK + LIGHT) // 2))
    return cells


def _decoded(cells: list[int], turn: int, region: Region) -> Written | None:
    bits = [cell for at, cell in enumerate(cells) if at not in _CORNERS]
    content = bytes(int("".join(map(str, bits[at : at + 8])), 2) for at in range(0, len(bits) - 7, 8))
    size = int.from_bytes(content[:2], "big")
    try:
        text, language, confidence = json.loads(content[2 : 2 + size])
    except ValueError:
        return None
    return Written(text, turn, region, language, confidence)


def table_of(written: Written, confidence: int) -> str:
    """Write the words as a table: lines of equal height, each with words of equal width; blank ones part paragraphs."""
    lines = written.text.split("\n")
    rows = [_HEADER]
    block = 1
    for number, line in enumerate(lines):
        words = line.split()
        if not words:
            block += 1
        top = written.region.top + number * written.region.height // len(lines)
        for at, word in enumerate(words):
            left = written.region.left + at * written.region.width // len(words)
            size = written.region.width // len(words) * 4 // 5, written.region.height // len(lines) * 4 // 5
            values = (5, 1, block, 1, number + 1, at + 1, left, top, *size, f"{confidence}.5", word)
            rows.append("\t".join(map(str, values)))
    return "\n".join(rows) + "\n"


class _State(NamedTuple):
    """The directory in which a stand-in is told what to do, and notes what it was asked."""

    place: Path

    @property
    def orders(self) -> dict[str, Any]:
        return dict(json.loads((self.place / "orders.json").read_text(encoding="utf-8")))

    def note(self, *words: str) -> None:
        line = json.dumps(words).encode() + b"\n"
        calls = os.open(self.place / "calls", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(calls, line)
        os.close(calls)


def main(place: str, *arguments: str) -> int:
    """Answer one call."""
    state = _State(Path(place))
    orders = state.orders
    if arguments == ("--version",):
        return _print(orders.get("says", f"tesseract {orders['version']}\n leptonica-1.82.0"))
    if arguments == ("--list-langs",):
        return _print("\n".join([f'List of available languages in "{place}":', *orders["languages"]]))
    options = dict(zip(arguments[2::2], arguments[3::2], strict=False))
    width, height, samples = _page(sys.stdin.buffer.read())
    written = written_on(width, height, samples)
    kind = "osd" if options["--psm"] == "0" else "tsv"
    state.note(kind, options["-l"], options["--dpi"], written.text if written else "")
    for part, order in orders["on"].items():
        if written and part in written.text:
            _obey(order, state)
    if "table" in orders:
        return _print(orders["table"])
    return _print_turn(written) if kind == "osd" else _print_words(written, options)


def _print_turn(written: Written | None) -> int:
    if written is None:
        return 1
    return _print(f"Page number: 0\nOrientation in degrees: {-written.turn % 360}\nRotate: {written.turn}")


def _print_words(written: Written | None, options: dict[str, str]) -> int:
    if written is None:
        return _print(_HEADER)
    if written.turn:
        return _print(table_of(written._replace(text="liu ilu"), 25))
    is_known = written.language in options["-l"].split("+")
    is_fine = int(options["--dpi"]) >= 300
    confidence = written.confidence if is_known else min(written.confidence, 60)
    return _print(table_of(written, min(confidence + 20 * is_fine, 95)))


def _print(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    return 0


def _page(pnm: bytes) -> tuple[int, int, bytes]:
    head, _, samples = pnm.partition(b"255\n")
    magic, width, height = head.split()
    assert magic == b"P5"
    return int(width), int(height), samples


def _obey(order: str, state: _State) -> None:
    """Do what happens to programs."""
    name, _, rest = order.partition(" ")
    match name:
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "fail":
            raise SystemExit(3)
        case "hang":
            time.sleep(1_000)
        case "eat":
            bytearray(64 << 30)
        case "wait":
            (state.place / f"came {os.getpid()}").touch()
            while not (state.place / rest).exists():
                time.sleep(0.01)
        case _:
            raise ValueError(name)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
