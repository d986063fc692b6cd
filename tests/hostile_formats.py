"""Stand-ins for parsers of untrusted formats: what they do is what the file says.

A module of its own, because worker processes import it.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkippedFile, SkipReason
from directory_indexer.core.paths import FilePath, exact_text
from directory_indexer.formats.document import Document
from directory_indexer.parsing import worker
from directory_indexer.parsing.tasks import Limits

if TYPE_CHECKING:
    from collections.abc import Callable


SHORT_LIMITS = Limits(seconds=0.5, clock_seconds=5)


def extract(content: bytes, path: FilePath) -> Document:
    text = content.decode()
    if behave := _BEHAVIOURS.get(text):
        behave()
    if text == "killed once":
        kill_once(path)
    return Document(f"{text} read by {os.getpid()}" if text == "who" else text, "hostile", title=text[:20])


def tell_process(_content: bytes, _path: FilePath) -> Document:
    return Document(str(os.getpid()), "hostile")


def hold_open(_content: bytes, path: FilePath) -> NoReturn:
    """Keep the pipe beside the file open until the process dies."""
    with Path(f"{exact_text(path)}.pipe").open("wb"):
        hang()


def make_lock(_item: str) -> object:
    """Return what cannot leave the process."""
    return threading.Lock()


def process_id(_item: int) -> int:
    return os.getpid()


def session_id(item: str) -> int:
    if item == "leave":
        leave()
    return os.getsid(0)


def keep_memory(_item: int) -> int:
    """Keep what the system may count, but needs not give: nobody writes to it."""
    _HOARD.append(mmap.mmap(-1, 300 << 20))
    return os.getpid()


class Command:
    """An object that runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("exit 1",)


def hand_over_command(_item: str) -> Command:
    return Command()


def hand_over_attribute(_item: str) -> None:
    """Set an attribute of a record's class when the result is unpickled."""
    _answer(b"cdirectory_indexer.core.files\nSourceFile\n(N}S'size'\nI7\nstb.")


def claim_length(item: str) -> str:
    """Announce a result that no machine can hold."""
    for descriptor in range(3, 64):
        with suppress(OSError):
            os.write(descriptor, (1 << 62).to_bytes(8, "big"))
    return item


def environment_variable(name: str) -> str | None:
    return os.environ.get(name)


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


def lack_memory() -> NoReturn:
    raise MemoryError


def answer_for_another() -> None:
    _answer(pickle.dumps(SkippedFile(FilePath("/another"), SkipReason.EMPTY)))


def answer_with_text() -> None:
    _answer(pickle.dumps("text"))


def _answer(answer: bytes) -> None:
    """Answer as a parser does that was taken over."""
    write_frame = worker.write_frame

    def write_once(target: IO[bytes], content: bytes) -> None:
        worker.write_frame = write_frame
        write_frame(target, worker.LAST + answer if answer else content)

    worker.write_frame = write_once


def devour_memory() -> None:
    hoard = [b""]
    while True:
        hoard.append(bytes(100_000_000))


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_once(path: FilePath) -> None:
    mark = Path(f"{exact_text(path)}.killed")
    if not mark.exists():
        mark.touch()
        be_killed()


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


_HOARD: list[mmap.mmap] = []

_BEHAVIOURS: dict[str, Callable[[], None]] = {
    "hang": hang,
    "spin": spin,
    "leave": leave,
    "crash": crash,
    "killed": be_killed,
    "memory": devour_memory,
    "no memory": lack_memory,
    "for another": answer_for_another,
    "with text": answer_with_text,
    "fail": fail,
    "recurse": recurse,
    "damaged": damaged,
    "encrypted": encrypted,
    "print": print_to_all,
}
