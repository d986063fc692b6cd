"""Read pictures with Tesseract, as dirindex does where the language is configured."""

from __future__ import annotations

import sys

from answering import answer, pixels_of

from directory_indexer.formats.pdf.raster import Raster
from directory_indexer.ocr.tesseract import Tesseract, installed_tesseract

_LANGUAGES = {"en": "eng", "de": "deu", "fr": "fra", "es": "spa", "ru": "rus", "el": "ell"}


def main() -> None:
    installed = installed_tesseract("tesseract")
    if installed is None:
        sys.exit("Tesseract is not installed")

    def read(path: str, language: str) -> str:
        engine = Tesseract(installed, (_LANGUAGES.get(language, "eng"),))
        return "\n".join(line.text for line in engine.recognise(Raster(*pixels_of(path), dpi=200)).lines)

    answer(read)


if __name__ == "__main__":
    main()
