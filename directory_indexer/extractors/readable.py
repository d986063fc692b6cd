"""The main text of web pages, without menus and banners, if the extra `web` is installed.

It takes 0.2 s to import and a tree of the page in memory, so it is used in worker processes alone.
"""

from __future__ import annotations

import importlib.util
import re
from typing import Final

_MOST_CHARS: Final = 4_000_000
_LEAST_SHARE: Final = 0.25
"""If less of the text than this would remain, the page has been misread."""


def readable(source: str, *, n_visible: int) -> str:
    """Return the source of the main content of a page; "" if it is unknown, so that the whole page is to be read.

    `n_visible` characters of the page are text.
    """
    if importlib.util.find_spec("trafilatura") is None or len(source) > _MOST_CHARS:
        return ""
    import trafilatura  # noqa: PLC0415 - see the docstring of the module

    content = trafilatura.extract(
        source, output_format="html", include_comments=False, include_formatting=True, with_metadata=False
    )
    return content if content and len(_TAG.sub("", content)) >= n_visible * _LEAST_SHARE else ""


_TAG: Final = re.compile(r"<[^<>]*>")
