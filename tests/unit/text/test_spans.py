from __future__ import annotations

from directory_indexer.text.formatting import Span, Style, line, plain


def test_a_pipe_gets_words_without_styles_and_a_head_in_its_column() -> None:
    lines = [line(Span("a", Style.PATH, "file:///a"), " b", head="name", indent=8), line(), line("end  ")]
    assert plain(lines) == "name    a b\n\nend\n"


def test_a_name_cannot_forge_a_line() -> None:
    assert plain([line(Span("a\nb", Style.PATH))]) == "a\\nb\n"
