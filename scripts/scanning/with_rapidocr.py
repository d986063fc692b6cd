"""Read pictures with the models of RapidOCR, as dirindex does."""

from __future__ import annotations

import sys

from answering import answer, pixels_of

from directory_indexer.formats.pdf.raster import Raster
from directory_indexer.ocr.engine_selection import RapidOcr, installed_models


def main() -> None:
    installed = installed_models()
    if installed is None:
        sys.exit("the models of RapidOCR are not installed: pip install --no-deps rapidocr")
    engine = RapidOcr(installed)

    def read(path: str, _: str) -> str:
        return "\n".join(line.text for line in engine.recognise(Raster(*pixels_of(path))).lines)

    answer(read)


if __name__ == "__main__":
    main()
