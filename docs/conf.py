"""Configuration of Sphinx for the site of `docs/`; a broken link between pages fails the build."""

from pygments.lexers import JsonLexer
from sphinx.application import Sphinx

from directory_indexer import __version__

project = "dirindex"
author = "The dirindex maintainers"
copyright = f"2026, {author}"  # noqa: A001 - the name that Sphinx reads
release = version = __version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"dirindex {release}"
html_static_path: list[str] = []
html_show_sphinx = False
highlight_language = "text"


def setup(app: Sphinx) -> None:
    """Colour JSON with comments as JSON."""
    app.add_lexer("jsonc", JsonLexer)
