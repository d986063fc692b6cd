"""OLE files as programs of before 2007 write them: streams in sectors, and what is in the streams."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

_SECTOR = 512
_PER_TABLE = _SECTOR // 4
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_STORAGE, _STREAM, _ROOT = 1, 2, 5
_FORMATS_BYTES = 512
"""The size of a page of formats."""

_PROPERTIES_AT = 0xF8
"""The place of the last properties in a page of formats, in words of two bytes."""

_SMALLEST = 4096
"""What is smaller would have to lie in a stream of small streams."""

Storage: TypeAlias = "Mapping[str, bytes | Storage]"
"""Streams and other storages by their names."""


def ole(streams: Storage) -> bytes:
    """Write a file with these streams and storages in its root; small streams are filled up with zeros."""
    nodes = _nodes(streams)
    contents = [node.content.ljust(_SMALLEST, b"\0") if node.kind == _STREAM else b"" for node in nodes]
    n_directory = -(-len(nodes) * 128 // _SECTOR)
    n_used = n_directory + sum(-(-len(content) // _SECTOR) for content in contents)
    n_tables = -(-n_used // (_PER_TABLE - 1))
    fat = [_FAT] * n_tables
    fat += [*range(n_tables + 1, n_tables + n_directory), _END]
    entries = []
    for node, content in zip(nodes, contents, strict=True):
        entries.append(
            _entry(node.name, node.kind, node.relatives, start=len(fat) if content else 0, size=len(content))
        )
        if content:
            fat += [*range(len(fat) + 1, len(fat) + -(-len(content) // _SECTOR)), _END]
    directory = b"".join(entries).ljust(n_directory * _SECTOR, b"\0")
    tables = [*range(n_tables), *[_FREE] * (109 - n_tables)]
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIII109I",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        0x3E, 3, 0xFFFE, 9, 6, 0, n_tables, n_tables, 0, _SMALLEST, _END, 0, _END, 0, *tables,
    )  # fmt: skip
    table = struct.pack(f"<{n_tables * _PER_TABLE}I", *fat, *[_FREE] * (n_tables * _PER_TABLE - len(fat)))
    return (
        header
        + table
        + directory
        + b"".join(stream.ljust(-(-len(stream) // _SECTOR) * _SECTOR, b"\0") for stream in contents)
    )


class _Node(NamedTuple):
    """An entry of the directory; `relatives` are its neighbours on both sides and its first child."""

    name: str
    kind: int
    relatives: tuple[int, int, int]
    content: bytes = b""


def _nodes(streams: Storage) -> list[_Node]:
    """Number the streams and storages, those in one storage one after the other."""
    nodes = [_Node("Root Entry", _ROOT, (_FREE, _FREE, _FREE))]
    waiting: list[tuple[int, Storage]] = [(0, streams)]
    while waiting:
        parent, children = waiting.pop(0)
        names = sorted(children, key=lambda name: (len(name), name.upper()))
        before = len(nodes) - 1
        if names:
            first = before + 1 + len(names) // 2
            nodes[parent] = nodes[parent]._replace(relatives=(*nodes[parent].relatives[:2], first))
        for index, name in enumerate(names, 1):
            left, right = (_FREE if sibling == _FREE else before + sibling for sibling in _siblings(index, len(names)))
            child = children[name]
            if isinstance(child, bytes):
                nodes.append(_Node(name, _STREAM, (left, right, _FREE), child))
            else:
                waiting.append((len(nodes), child))
                nodes.append(_Node(name, _STORAGE, (left, right, _FREE)))
    return nodes


def _siblings(index: int, n_names: int) -> tuple[int, int]:
    """Chain the names away from the one in the middle, which is a tree that is sorted."""
    middle = 1 + n_names // 2
    left = index - 1 if 1 < index <= middle else _FREE
    right = index + 1 if middle <= index < n_names else _FREE
    return left, right


def _entry(name: str, kind: int, relatives: tuple[int, int, int], *, start: int = 0, size: int = 0) -> bytes:
    written = (name + "\0").encode("utf-16-le")
    return struct.pack("<64sHBBIII16x4x16xIQ", written, len(written), kind, 1, *relatives, start, size)


def summary(title: str, author: str, created: int) -> bytes:
    """Write the properties of a document; `created` counts 100 ns from 1601."""
    values = [
        (1, struct.pack("<Ihxx", 2, -535)),
        (2, _string(title)),
        (4, _string(author)),
        (12, struct.pack("<IQ", 64, created)),
    ]
    offset = 8 + 8 * len(values)
    index = b""
    for number, value in values:
        index += struct.pack("<II", number, offset)
        offset += len(value)
    section = struct.pack("<II", offset, len(values)) + index + b"".join(value for _, value in values)
    return struct.pack("<HHI16xI16xI", 0xFFFE, 0, 0, 1, 48) + section


def _string(text: str) -> bytes:
    written = text.encode() + b"\0"
    return struct.pack("<II", 30, len(written)) + written + bytes(-len(written) % 4)


def word_stream(text: str, superscript: tuple[int, int] = (0, 0), *, levels: Sequence[int] = ()) -> dict[str, bytes]:
    """Write the streams of a Word document of one piece of text, of which paragraphs end with CR.

    The characters from the one of `superscript` to the other are raised. With `levels`, the paragraphs are items of a
    list at these levels.
    """
    start = 0x800
    fib = bytearray(start)
    struct.pack_into("<HHHHHH", fib, 0, 0xA5EC, 0xC1, 0, 0x409, 0, 0x0200)
    struct.pack_into("<I", fib, 0x18, start)
    struct.pack_into("<I", fib, 0x1C, start + 2 * len(text))
    struct.pack_into("<H", fib, 0x20, 14)
    struct.pack_into("<H", fib, 0x3E, 22)
    struct.pack_into("<I", fib, 0x4C, len(text))
    struct.pack_into("<H", fib, 0x98, 93)
    pieces = struct.pack("<II", 0, len(text)) + struct.pack("<HIH", 0, start, 0)
    table = b"\x02" + struct.pack("<I", len(pieces)) + pieces
    struct.pack_into("<II", fib, 0x1A2, 0, len(table))
    main = bytearray(fib + text.encode("utf-16-le"))
    bounds = [start + 2 * at for at in (0, *superscript, len(text))]
    raised = _formats(bounds, bytes([0, _PROPERTIES_AT, 0]), struct.pack("<BHB", 3, 0x2A48, 1))
    ends = [start + 2 * at for at, character in enumerate(text, 1) if character == "\r"] if levels else [bounds[-1]]
    styles = [struct.pack("<BHHBHH", 5, 0, 0x260A, level, 0x460B, 1) for level in levels] or [bytes([2, 0, 0])]
    words = [_PROPERTIES_AT - 5 * number for number in range(len(styles))]
    places = b"".join(bytes([word]).ljust(13, b"\0") for word in words)
    paragraphs = _formats([start, *ends], places, b"".join(reversed(styles)), first=2 * words[-1])
    for field, page in ((0xFA, raised), (0x102, paragraphs)):
        struct.pack_into("<II", main, field, len(table), 12)
        main += bytes(-len(main) % _FORMATS_BYTES)
        table += struct.pack("<III", bounds[0], bounds[-1], len(main) // _FORMATS_BYTES)
        main += page
    return {"WordDocument": bytes(main), "1Table": table}


def _formats(bounds: list[int], places: bytes, properties: bytes, *, first: int = 2 * _PROPERTIES_AT) -> bytes:
    """Write a page with the formats of runs of text, of which all that are not plain have the same."""
    page = struct.pack(f"<{len(bounds)}I", *bounds) + places
    return (page.ljust(first, b"\0") + properties).ljust(_FORMATS_BYTES - 1, b"\0") + bytes([len(bounds) - 1])


def workbook_stream(name: str, cells: Mapping[tuple[int, int], str | float], *, password: bool = False) -> bytes:
    """Write the stream of a workbook of one sheet, of which cells are known by row and column."""
    bof = _record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0))
    lock = _record(0x2F, bytes(6)) if password else b""
    end = _record(0x0A, b"")
    before = len(bof) + len(lock)
    sheet_entry = struct.pack("<BB", len(name), 0) + name.encode()
    sheet_at = before + 4 + 6 + len(sheet_entry) + len(end)
    listed = _record(0x85, struct.pack("<IH", sheet_at, 0) + sheet_entry)
    rows = b"".join(_cell(row, column, value) for (row, column), value in cells.items())
    sheet = _record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0)) + rows + end
    return bof + lock + listed + end + sheet


def _cell(row: int, column: int, value: str | float) -> bytes:
    place = struct.pack("<HHH", row, column, 0)
    if isinstance(value, float):
        return _record(0x203, place + struct.pack("<d", value))
    return _record(0x204, place + struct.pack("<HB", len(value), 1) + value.encode("utf-16-le"))


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def slides_streams(
    *titles: str, box: str = "", footer: str = "", footers: Sequence[str] = (), notes: Sequence[str] = ()
) -> dict[str, bytes]:
    """Write the streams of a presentation, of which each slide has a title, and maybe a box with a text.

    `footer` is that of all slides, `footers` are those of each. The page of notes of each slide has a box with `notes`
    and one with what all have, `Draft`.
    """
    boxes = _text_box(4, box) if box else b""
    footers = footers or [""] * len(titles)
    listed = b"".join(
        _atom(0x3F3, struct.pack("<IIiII", number + 2, 0, 1, 256 + number, 0))
        + _atom(0xF9F, struct.pack("<I", 0))
        + _atom(0xFA0, title.encode("utf-16-le"))
        for number, title in enumerate(titles)
    )
    head = _atom(0x3E9, bytes(40), version=1) + _footer(footer)
    document = _atom(0x3E8, head + _atom(0xFF0, listed, version=15), version=15)
    slides = [_atom(0x3EF, bytes(24), version=2) + boxes + _footer(text) for text in footers]
    pages = [
        _atom(0x3F1, struct.pack("<II", 256 + number, 0), version=1) + _text_box(2, text) + _text_box(4, "Draft")
        for number, text in enumerate(notes)
    ]
    parts = [document]
    parts += [_atom(kind, page, version=15) for kind, all_ in ((0x3EE, slides), (0x3F0, pages)) for page in all_]
    offsets = [sum(map(len, parts[:index])) for index in range(len(parts))]
    persist_at = sum(map(len, parts))
    persist = _atom(0x1772, struct.pack(f"<I{len(parts)}I", len(parts) << 20 | 1, *offsets))
    edit = _atom(0xFF5, struct.pack("<IHBBIIII", 256, 0, 0, 3, 0, persist_at, 1, len(parts) + 1) + bytes(4))
    user = _atom(0xFF6, struct.pack("<IIIHHBBH", 20, 0xE391C05F, persist_at + len(persist), 0, 0x3F4, 3, 0, 0))
    return {"PowerPoint Document": b"".join(parts) + persist + edit, "Current User": user}


def _text_box(kind: int, text: str) -> bytes:
    written = _atom(0xF9F, struct.pack("<I", kind)) + _atom(0xFA0, text.encode("utf-16-le"))
    return _atom(0xF00D, written, version=15)


def _footer(text: str) -> bytes:
    return _atom(0xFD9, _atom(0xFBA, text.encode("utf-16-le"), version=2 << 4), version=15) if text else b""


def _atom(kind: int, content: bytes, *, version: int = 0) -> bytes:
    return struct.pack("<HHI", version, kind, len(content)) + content
