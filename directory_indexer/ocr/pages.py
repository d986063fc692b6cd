"""OCR of one page in a worker process: it is rendered, recognised, and retried if the confidence is low."""

from __future__ import annotations

import contextlib
import os
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import Line, PageKey, PageProblem, Recognition, SourceFile, Word, rotate_box
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.pdf.raster import Raster
from directory_indexer.formats.pdf.rendering import Drawing, draw_page, encode_page
from directory_indexer.formats.recognition import format_of
from directory_indexer.ocr.engine import LocalEngine, PageOutcome, PageRequest, RenderedPage
from directory_indexer.parsing.contents import Members, container_budget, read_content
from directory_indexer.parsing.one_file import format_origin
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.reading import open_large


def read_page(request: PageRequest, *, engine: LocalEngine, policy: ParsePolicy) -> PageOutcome:
    """Read one page."""
    try:
        document = _Document(*content_of_page(request.path, request.on_disk, policy), request.page)
        drawing = document.draw(_DPI)
        if drawing.key != request.key:
            return PageOutcome(request.key, None)
        return _read_with(engine, request.key, document, drawing)
    except (SkipFileError, OSError):  # gone or changed
        return PageOutcome(request.key, None)
    except ExtractionError as error:
        return PageOutcome(request.key, PageProblem(error.message))
    except Exception as error:  # noqa: BLE001 - one bad page never stops a run
        return PageOutcome(request.key, PageProblem(format_origin(error)))


def render_for_service(request: PageRequest, *, policy: ParsePolicy) -> RenderedPage:
    """Render one page in colour, which services use."""
    try:
        content, kind = content_of_page(request.path, request.on_disk, policy)
        drawing = draw_page(content, kind, request.page, dpi=_DPI, is_grey=False)
        return RenderedPage(request.key, encode_page(drawing.raster) if drawing.key == request.key else None)
    except (SkipFileError, OSError):
        return RenderedPage(request.key, None)
    except ExtractionError as error:
        return RenderedPage(request.key, PageProblem(error.message))
    except Exception as error:  # noqa: BLE001 - one bad page never stops a run
        return RenderedPage(request.key, PageProblem(format_origin(error)))


@lru_cache(maxsize=1)
def lower_priority() -> None:
    """Lower the priority of this process."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)


class _Document(NamedTuple):
    content: bytes
    kind: str
    page: int

    def draw(self, dpi: int, turn: int = 0) -> Drawing:
        return draw_page(self.content, self.kind, self.page, dpi=dpi, turn=turn)


def _read_with(engine: LocalEngine, key: PageKey, document: _Document, drawing: Drawing) -> PageOutcome:
    """Read a rendered page; an engine that also fails on an empty page is at fault itself."""
    try:
        return PageOutcome(key, without_noise(_read(document, drawing, engine)))
    except ExtractionError as error:
        try:
            engine.recognise(_EMPTY_PAGE)
        except ExtractionError:
            return PageOutcome(key, None, fault=error.message)
        raise


def _read(document: _Document, drawing: Drawing, engine: LocalEngine) -> Recognition:
    """Read a page; with low confidence, also rotated upright and at a higher resolution, and return the best result."""
    best = engine.recognise(drawing.raster)
    if best.confidence >= _MIN_CONFIDENCE and best.lines:
        return best
    turn = engine.turn_of(drawing.raster)
    if turn:
        best = _better_of(best, _unrotated(engine.recognise(document.draw(_DPI, turn).raster), turn))
    if best.lines and best.confidence < _MIN_CONFIDENCE:
        fine = document.draw(_FINE_DPI, turn)
        if fine.raster.dpi > drawing.raster.dpi:
            best = _better_of(best, _unrotated(engine.recognise(fine.raster), turn))
    is_poor = not best.lines or best.confidence < _MIN_CONFIDENCE
    if is_poor and (smooth := despeckled(document.draw(_DPI, turn).raster)):
        best = _better_of(best, _unrotated(engine.recognise(smooth), turn))
    return best


def without_noise(recognition: Recognition) -> Recognition:
    """Return a recognition without lines if hardly a letter of it is certain: engines see text in photographs."""
    sure = (word for line in recognition.lines for word in line.words if word.confidence >= 100 * _MIN_CONFIDENCE)
    n_letters = sum(character.isalnum() for word in sure for character in word.text)
    return recognition if n_letters >= _MIN_LETTERS else recognition._replace(lines=())


def despeckled(page: Raster) -> Raster | None:
    """Return a grey page after a median filter; None if hardly a pixel changes.

    Tesseract finds no line, or half of the words, in a noisy scan.
    """
    if page.n_channels != 1 or min(page.width, page.height) < _WINDOW:
        return None
    pixels = np.frombuffer(page.samples, dtype=np.uint8).reshape(page.height, page.width)
    around = np.lib.stride_tricks.sliding_window_view(np.pad(pixels, 1, mode="edge"), (_WINDOW, _WINDOW))
    middle = _WINDOW * _WINDOW // 2
    # By strips, since the neighbourhoods of a whole page take nine times its memory.
    strips = [
        np.partition(around[top : top + _STRIP].reshape(-1, page.width, 2 * middle + 1), middle)[..., middle]
        for top in range(0, page.height, _STRIP)
    ]
    smooth = np.concatenate(strips)
    n_specks = np.count_nonzero(np.abs(smooth.astype(np.int16) - pixels) > _SPECK)
    return page._replace(samples=smooth.tobytes()) if n_specks > _MIN_SPECK_SHARE * pixels.size else None


def _better_of(current: Recognition, candidate: Recognition) -> Recognition:
    return candidate if _quality(candidate) > _quality(current) else current


def _quality(recognition: Recognition) -> float:
    """Return the amount of text weighted by confidence."""
    return recognition.confidence * sum(len(word.text) for line in recognition.lines for word in line.words)


def _unrotated(recognition: Recognition, turn: int) -> Recognition:
    """Return a recognition of a rotated page with its positions on the original page."""
    lines = tuple(
        Line(tuple(_unrotated_word(word, -turn) for word in line.words), line.block) for line in recognition.lines
    )
    return recognition._replace(lines=lines, turn=turn)


def _unrotated_word(word: Word, degrees: int) -> Word:
    return word._replace(box=rotate_box(word.box, degrees)) if word.box else word


@lru_cache(maxsize=1)
def content_of_page(path: FilePath, on_disk: SourceFile, policy: ParsePolicy) -> tuple[bytes, str]:
    """Return the bytes and kind of a document; cached, since its pages are mostly read in order.

    Raises:
        SkipFileError: it cannot be read.
    """
    content = _CONTAINER.member(path, on_disk, policy) if path != on_disk.path else _file(path, policy)
    return content, format_of(path, content, policy.added)[0]


def _file(path: FilePath, policy: ParsePolicy) -> bytes:
    budget = Budget(member_bytes=policy.max_file_size, recognised=policy.recognised)
    content = read_content(path, policy, budget, follow_links=policy.follow_symlinks)
    if not isinstance(content, bytes):
        raise ExtractionError("no longer exists")
    return content


class _Container:
    """The container whose members are read, open until another one is requested."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._key: tuple[SourceFile, ParsePolicy] | None = None
        self._members: Members | None = None

    def member(self, path: FilePath, on_disk: SourceFile, policy: ParsePolicy) -> bytes:
        """Return the bytes of a member; the stamp of its container detects changes."""
        if self._members is None or self._key != (on_disk, policy):
            self._stack.close()
            self._members, self._key = None, (on_disk, policy)
            large = self._stack.enter_context(open_large(on_disk, follow_symlinks=policy.follow_symlinks))
            self._members = Members(large.file, on_disk.path, policy, lambda: container_budget(on_disk.size, policy))
        return self._members.content(path)


_CONTAINER: Final = _Container()
_EMPTY_PAGE: Final = Raster(640, 480, bytes([255]) * (640 * 480), dpi=200)
_DPI: Final = 200
_FINE_DPI: Final = 300
"""For low confidence: 36 pages with noise and skew were read with .16 % of errors at 200, and none at 300."""

_WINDOW: Final = 3
_STRIP: Final = 128
_SPECK: Final = 24
_MIN_SPECK_SHARE: Final = 0.02
"""Of the pixels: of pages with letters alone up to 0.016 change, of blank ones none."""

_MIN_CONFIDENCE: Final = 0.7
_MIN_LETTERS: Final = 3
"""Of 70 photographs, paintings and covers, those with text had 7 such letters or more; those without, 1 at most."""

_NICENESS: Final = 10
