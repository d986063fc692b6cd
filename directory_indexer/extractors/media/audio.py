"""Sound: the tags of MP3, FLAC, Ogg, Opus, MP4, WMA, AIFF and WAV files, read by tinytag."""

from __future__ import annotations

from typing import BinaryIO, Final

from tinytag import TinyTag, TinyTagException

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.document import Metadata
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.members import Contents
from directory_indexer.extractors.properties import iso_time, one_value, values, written_title
from directory_indexer.files import SkipReason


def open_audio(file: BinaryIO, kind: str, _: Budget) -> Contents:
    """Read the tags of a sound file; the sound itself is skipped.

    Raises:
        SkipFileError: it has none.
        ExtractionError: it is damaged.
    """
    try:
        tag = TinyTag.get(file_obj=file, duration=False, encoding=None)
    except TinyTagException as error:
        raise ExtractionError(f"damaged tags: {one_value(str(error))[:100]}") from error
    except (ArithmeticError, AttributeError, IndexError, LookupError, OSError, TypeError, ValueError) as error:
        raise ExtractionError(f"damaged tags ({type(error).__name__})") from error
    draft = Draft()
    title = written_title(tag.title or "")
    draft.heading(1, title)
    facts = {
        "Artist": tag.artist,
        "Album": tag.album,
        "Album artist": tag.albumartist,
        "Composer": tag.composer,
        "Genre": tag.genre,
        "Year": tag.year,
    }
    draft.rows(f"{label}: {one_value(str(text))}" for label, text in facts.items() if text)
    for name in ("comment", "description", "lyrics"):
        text = tag.comment if name == "comment" else "\n".join(map(str, tag.other.get(name, [])))
        draft.paragraph((text or "")[:_MAX_CHARACTERS])
    if draft.is_empty:
        raise SkipFileError(SkipReason.BINARY, f"{_NAMES.get(kind, kind)} without tags")
    metadata = Metadata(
        authors=values(filter(None, (tag.artist, tag.composer))),
        created=iso_time((tag.year or "")[:10]),
        tags=values(filter(None, (tag.genre,))),
    )
    return Contents(draft.document(kind, title, metadata))


_MAX_CHARACTERS: Final = 1_000_000
_NAMES: Final = {"aiff": "AIFF audio", "mp3": "MP3 audio", "m4a": "MP4 audio", "wav": "WAV audio"}
