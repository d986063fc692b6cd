"""Errors of native readers of office files, as one error; a crash of their process is handled by the worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.files import SkipReason


@contextmanager
def damage_of(what: str, *errors: type[Exception]) -> Iterator[None]:
    """Convert the errors and panics of a library into failures that name `what` was read.

    Raises:
        SkipFileError: the file needs a password.
        ExtractionError: the file is damaged, or the library fails on it.
    """
    try:
        yield
    except ExtractionError:
        raise
    except errors as error:
        message = " ".join(str(error).split())[:_MESSAGE_CHARACTERS]
        if any(word in message.lower() for word in _PASSWORDS):
            raise SkipFileError(SkipReason.ENCRYPTED, "needs a password") from error
        raise ExtractionError(f"damaged {what}: {message or type(error).__name__}") from error
    except BaseException as error:
        # PyO3 raises a Rust panic as a class that is no `Exception` and cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise ExtractionError(f"damaged {what}: its reader gave up") from error


_MESSAGE_CHARACTERS: Final = 150
_PASSWORDS: Final = ("password", "encrypted")
