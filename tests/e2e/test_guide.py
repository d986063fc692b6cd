"""Output in the README and the guide is what their commands write."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("the examples run on a pseudo-terminal", allow_module_level=True)

from documenting import renewed, without_figures

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/guide").glob("*.md"))]
PAGE = """# A page

```sh
dirindex nothing    # not run
```

```console
$ echo lighthouse | tr a-z A-Z
something older
$ false; cat missing
```

Text after it.
"""


def test_output_is_replaced_and_all_else_stays() -> None:
    new = renewed(PAGE)
    assert new == PAGE.replace("something older", "LIGHTHOUSE").replace(
        "cat missing\n", "cat missing\ncat: missing: No such file or directory\n"
    )
    assert renewed(new) == new


def test_figures_may_differ_and_words_may_not() -> None:
    assert without_figures("done in 10 s, 28 KiB") == without_figures("done in 1.5 min, 3 MiB")
    assert without_figures("14 files") != without_figures("14 chunks")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_write(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert without_figures(renewed(text)) == without_figures(text), "run scripts/guide to renew it"
