"""Standard input and output as the server uses them: whole lines, and no thread that waits."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from directory_indexer.server.stdio import _NonBlockingWriter, _StdinLines

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the SDK waits in threads there")


async def _all_lines(lines: _StdinLines) -> list[str]:
    return [line async for line in lines]


def test_lines_are_whole_however_they_arrive() -> None:
    reader, writer = os.pipe()

    async def send() -> None:
        for piece in (b'{"a"', b": 1}\n{", b'"b": "\xc3', b'\xa4"}\n', b"last"):
            os.write(writer, piece)
            await anyio.lowlevel.checkpoint()
        os.close(writer)

    found: list[str] = []

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            found.extend(await _all_lines(_StdinLines(b"read before\nand ", reader)))

    try:
        anyio.run(both)
        assert found == ["read before\n", 'and {"a": 1}\n', '{"b": "ä"}\n', "last"]
    finally:
        os.close(reader)


def test_a_file_can_stand_in_the_place_of_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"one\ntwo\n")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        assert anyio.run(_all_lines, _StdinLines(b"", descriptor)) == ["one\n", "two\n"]
    finally:
        os.close(descriptor)


def test_a_client_that_reads_slowly_gets_everything_and_holds_up_nobody() -> None:
    reader, writer = os.pipe()
    text = "0123456789" * 100_000
    received = bytearray()

    async def read_slowly() -> None:
        while len(received) < len(text):
            await anyio.wait_readable(reader)
            received.extend(os.read(reader, 1000))

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_slowly)
            await _NonBlockingWriter(writer).write(text)

    try:
        anyio.run(both)
        assert received.decode() == text
    finally:
        os.close(reader)
        os.close(writer)
