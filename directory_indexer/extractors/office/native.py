"""What native readers of office files do wrong, as one error; what ends their process is the worker's matter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.files import SkipReason


@contextmanager
def damage_of(what: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn the errors of a library, and its panics, into failures that name `what` was read.

    Raises:
        SkipFileError: the file needs a password.
        ExtractionError: the file is damaged, or the library is at a loss.
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
        # PyO3 raises a panic of Rust as no `Exception`, and has no name for it that could be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise ExtractionError(f"damaged {what}: its reader gave up") from error


_MESSAGE_CHARACTERS: Final = 150
_PASSWORDS: Final = ("password", "encrypted")
