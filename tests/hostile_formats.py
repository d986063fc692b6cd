"""Stand-ins for parsers of untrusted formats: what they do is what the file says.

A module of its own, because worker processes import it.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.records import Document, SkipReason, os_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from directory_indexer.records import FilePath


def extract(content: bytes, _path: FilePath) -> Document:
    text = content.decode()
    if behave := _BEHAVIOURS.get(text):
        behave()
    return Document(f"{text} read by {os.getpid()}" if text == "who" else text, "hostile", title=text[:20])


def tell_process(_content: bytes, _path: FilePath) -> Document:
    return Document(str(os.getpid()), "hostile")


def hold_open(_content: bytes, path: FilePath) -> NoReturn:
    """Keep the pipe beside the file open until the process dies."""
    with Path(f"{os_path(path)}.pipe").open("wb"):
        hang()


def make_lock(_item: str) -> object:
    """Return what cannot leave the process."""
    return threading.Lock()


def process_id(_item: int) -> int:
    return os.getpid()


def blocks_interrupts(item: str) -> bool:
    if item == "leave":
        leave()
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def count_words(text: str) -> int:
    return len(text.split())


def hang() -> NoReturn:
    while True:
        threading.Event().wait()


def spin() -> NoReturn:
    while True:
        pass


def leave() -> NoReturn:
    os._exit(7)


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def devour_memory() -> None:
    hoard = [b""]
    while True:
        hoard.append(bytes(100_000_000))


def fail() -> NoReturn:
    raise KeyError("the secret words of the file")


def recurse() -> None:
    recurse()


def damaged() -> NoReturn:
    raise ExtractionError("damaged: no end")


def encrypted() -> NoReturn:
    raise SkipFileError(SkipReason.ENCRYPTED, "needs a password")


def print_to_all() -> None:
    for descriptor in (1, 2):
        os.write(descriptor, b"noise of a parser")


_BEHAVIOURS: dict[str, Callable[[], None]] = {
    "hang": hang,
    "spin": spin,
    "leave": leave,
    "crash": crash,
    "memory": devour_memory,
    "fail": fail,
    "recurse": recurse,
    "damaged": damaged,
    "encrypted": encrypted,
    "print": print_to_all,
}
