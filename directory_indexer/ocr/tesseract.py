"""OCR by the `tesseract` command: a crash ends only that process, and all installed languages can be used.

Its TSV output is not trusted to be well-formed.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.core.errors import ExtractionError
from directory_indexer.core.files import PAGE_UNITS, Box, Line, Recognition, Word
from directory_indexer.core.isolation import NEUTRAL_DIRECTORY
from directory_indexer.core.lazy import lazily
from directory_indexer.formats.limited_program import LimitedProgram, ProgramLimits, find_program
from directory_indexer.formats.pdf.raster import Raster

with lazily:
    from directory_indexer.ranking.language_table import language_of_document

_OSD: Final = "osd"
"""Listed by `--list-langs`, but no language: data for orientation detection."""

_SHORT_PAGE: Final = 1_000
_MAX_LANGUAGES: Final = 4
"""Each language multiplies the time of reading."""

_TIMEOUT_SECONDS: Final = 20
_DATA_VARIABLE: Final = "TESSDATA_PREFIX"
_MIN_DPI: Final = 200
"""Pictures that state no resolution, or that of a screen, are mostly scans: at 96, Tesseract takes columns of a ruled
table for pictures, or the whole of it."""

_MAX_BYTES: Final = 16_000_000
_ONE_THREAD: Final = {"OMP_THREAD_LIMIT": "1"}
"""Four threads take longer than one, since most of them spin."""

_LANGUAGES: Final = dict(
    pair.split(":")
    for pair in (
        "af:afr ar:ara az:aze be:bel bg:bul bn:ben ca:cat cs:ces cy:cym da:dan de:deu el:ell en:eng es:spa "
        "et:est eu:eus fa:fas fi:fin fr:fra ga:gle gl:glg gu:guj he:heb hi:hin hr:hrv hu:hun hy:hye id:ind "
        "is:isl it:ita ja:jpn ka:kat kk:kaz kn:kan ko:kor la:lat lt:lit lv:lav mk:mkd ml:mal mr:mar ms:msa "
        "mt:mlt nb:nor nl:nld nn:nor no:nor pa:pan pl:pol pt:por ro:ron ru:rus sk:slk sl:slv sq:sqi sr:srp "
        "sv:swe sw:swa ta:tam te:tel th:tha tl:tgl tr:tur uk:ukr ur:urd vi:vie zh:chi_sim"
    ).split()
)
"""Detected languages, and their codes in Tesseract."""

_N_COLUMNS: Final = 12
_WORD: Final = "5"
_MIN_CONFIDENCE: Final = 20
"""Words below this confidence are mostly noise, in photographs and at margins."""


class Installed(NamedTuple):
    """An installation of Tesseract: its command, its version, and its languages.

    The language of the system comes first, then English.

    `data` is their directory, if the environment names one; nothing else of it is passed on.
    """

    command: str
    version: str
    languages: tuple[str, ...]
    data: str = ""


def installed_tesseract(command: str) -> Installed | None:
    """Return the installation, or None if there is none.

    Raises:
        ExtractionError: the command exists and cannot be run.
    """
    path = find_program(command)
    if not os.path.isfile(path):
        return None
    data = os.environ.get(_DATA_VARIABLE, "")
    data = data if os.path.isabs(data) else ""
    output = _output_of(path, "--version", data)
    match = re.search(r"tesseract v?(\d[\w.]*)", output)
    if not match:
        raise ExtractionError(f"{path} is not Tesseract")
    languages = [
        line for line in _output_of(path, "--list-langs", data).splitlines()[1:] if re.fullmatch(r"[\w/-]{2,40}", line)
    ]
    languages.sort(key=lambda language: (language != _language_of_system(), language != "eng"))
    return Installed(path, match[1], tuple(languages), data)


class Tesseract:
    """Reads pages with the `tesseract` command.

    Without `languages`, it starts with the language of the previous page, initially that of the system, and reads the
    page again if the text turns out to be in another installed one. A page too short to detect its language is read in
    all of them.
    """

    def __init__(self, installed: Installed, languages: Sequence[str] = (), *, seconds: int = 120) -> None:
        self._installed = installed
        self._chosen = "+".join(languages)
        self._seconds = seconds
        self._last = _first_language(installed.languages)

    @property
    def name(self) -> str:
        """The version, and the languages that it reads."""
        languages = self._chosen.split("+") if self._chosen else sorted({*self._installed.languages} - {_OSD})
        return f"Tesseract {self._installed.version}, which reads {', '.join(languages)}"

    @property
    def recipe(self) -> str:
        """The version and the languages: with more of them installed, the result may differ."""
        languages = self._chosen or f"any of {' '.join(sorted(self._installed.languages))}"
        return f"tesseract {self._installed.version}, {languages}"

    def recognise(self, page: Raster) -> Recognition:
        """Read an upright page.

        Raises:
            ExtractionError: the command cannot be run, fails, or takes too long.
        """
        recognition = self._read(page, self._chosen or self._last)
        if self._chosen:
            return recognition
        language = self._language_of(recognition)
        other = language if language is not None else self._all_languages(recognition)
        if other and other != self._last:
            again = self._read(page, other)
            if again.confidence > recognition.confidence:
                self._last = language or self._last
                return again
        return recognition

    def turn_of(self, page: Raster) -> int:
        """Return the clockwise rotation that makes a page upright; 0 if it has too few letters."""
        if _OSD not in self._installed.languages:
            return 0
        try:
            output = self._run(page, "--psm", "0", "-l", _OSD).decode("utf-8", "replace")
        except ExtractionError:  # also raised if there are too few letters
            return 0
        match = re.search(r"^Rotate: (90|180|270)$", output, re.MULTILINE)
        return int(match[1]) if match else 0

    def _read(self, page: Raster, languages: str) -> Recognition:
        tsv = self._run(page, "-l", languages, "--psm", "3", "tsv").decode("utf-8", "replace")
        engine = f"tesseract {self._installed.version} ({languages})"
        return Recognition(engine, tuple(lines_of(tsv, page.width, page.height)), page.dpi)

    def _run(self, page: Raster, *options: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="dirindex-") as directory:
            place = Path(directory)
            with tempfile.TemporaryFile(dir=place) as source, tempfile.TemporaryFile(dir=place) as output:
                source.write(page.to_pnm())
                source.seek(0)
                LimitedProgram(
                    [self._installed.command, "-", "-", "--dpi", str(max(page.dpi, _MIN_DPI)), *options],
                    directory=place,
                    source=source,
                    output=output,
                    limits=ProgramLimits(self._seconds, _MAX_BYTES),
                    environment={**_ONE_THREAD, **_data_variable(self._installed.data)},
                ).finish()
                output.seek(0)
                return output.read(_MAX_BYTES)

    def _language_of(self, recognition: Recognition) -> str | None:
        """Return the language of a text, "" if its data is not installed; None if it cannot be detected."""
        text = "\n".join(" ".join(line.text for line in block) for block in _blocks(recognition.lines))
        language = language_of_document(text)
        if not language:
            return None
        known = _LANGUAGES.get(language, "")
        return known if known in self._installed.languages else ""

    def _all_languages(self, recognition: Recognition) -> str:
        if not 0 < sum(len(line.text) for line in recognition.lines) < _SHORT_PAGE:
            return ""
        languages = [name for name in self._installed.languages if name != _OSD and "/" not in name]
        return "+".join(languages[:_MAX_LANGUAGES])


def lines_of(tsv: str, width: int, height: int) -> Iterator[Line]:
    """Yield the lines of a page of the given size, in reading order; rows that are no words are skipped."""
    blocks: dict[tuple[str, ...], int] = {}
    for place, rows in itertools.groupby(_rows(tsv), key=lambda row: row.place):
        words = tuple(word for row in rows if (word := _word(row, width, height)))
        if words:
            yield Line(words, blocks.setdefault(place[:-1], len(blocks)))


def _language_of_system() -> str:
    setting = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG", "")
    return _LANGUAGES.get(setting.partition("_")[0], "")


def _output_of(path: str, option: str, data: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - resolved on the user's own PATH
            [path, option],
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
            cwd=NEUTRAL_DIRECTORY,
            start_new_session=True,  # else Ctrl+C of this process would end it, too, as if it were broken
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", **_data_variable(data)},
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ExtractionError(f"{path} cannot be run: {type(error).__name__}") from error
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def _data_variable(data: str) -> dict[str, str]:
    return {_DATA_VARIABLE: data} if data else {}


def _first_language(installed: Sequence[str]) -> str:
    return next((language for language in installed if language != _OSD), "eng")


def _blocks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    return (list(block) for _, block in itertools.groupby(lines, key=lambda line: line.block))


class _Row(NamedTuple):
    """A word, and the numbers of its block, paragraph and line."""

    place: tuple[str, ...]
    box: list[str]
    confidence: str
    text: str


def _rows(tsv: str) -> Iterator[_Row]:
    for line in tsv.split("\n"):
        values = line.split("\t", _N_COLUMNS - 1)
        if len(values) == _N_COLUMNS and values[0] == _WORD:
            yield _Row(tuple(values[2:5]), values[6:10], values[10], " ".join(values[11].split()))


def _word(row: _Row, width: int, height: int) -> Word | None:
    try:
        left, top, across, down = map(int, row.box)
        confidence = round(float(row.confidence))
    except (ValueError, OverflowError):
        return None
    if not row.text or confidence < _MIN_CONFIDENCE:
        return None
    right, bottom = left + max(across, 0), top + max(down, 0)
    box = Box(_share(left, width), _share(top, height), _share(right, width), _share(bottom, height))
    return Word(row.text, min(confidence, 100), box)


def _share(pixels: int, of_pixels: int) -> int:
    return PAGE_UNITS * min(max(pixels, 0), of_pixels) // max(of_pixels, 1)
