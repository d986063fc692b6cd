from __future__ import annotations

import os

import pytest

from directory_indexer.core.paths import file_path
from directory_indexer.text.formatting import PathStyle, file_uri, printable, single_line

needs_posix = pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("\x9b2J", r"\x9b2J"),
        ("a\nb\rc", r"a\nb\rc"),
        ("bell\x07 back\x08", r"bell\x07 back\x08"),
        ("\x7f\x00", r"\x7f\x00"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("\u2066\u2069\u200f", r"\u2066\u2069\u200f"),
        ("\u2028\ufeff", r"\u2028\ufeff"),
        ("\U000e0041", r"\U000e0041"),
        ("caf\udce9", r"caf\xe9"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_moves_a_cursor_or_turns_text_around_is_shown_as_an_escape(hostile: str, shown: str) -> None:
    assert printable(hostile) == shown


@pytest.mark.parametrize("text", ["Käse & Brot 100%", "面包", "👩\u200d🍳", "नमस्ते", "بيت", "a\tb", "[bold]x[/bold]"])
def test_every_script_is_shown_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_in_a_pipe_nothing_breaks_a_line_or_a_column() -> None:
    assert single_line("a\tb\nc\x1b") == r"a\tb\nc\x1b"
    assert single_line("بيت \udcff") == "بيت \udcff"


_DIRECTION_MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_INVISIBLE = "\u115f\u180e\u2060\u2064\u206a\u3164\ufeff\uffa0\ufff9\U0001d173\U000e0001\U000e0041"


@pytest.mark.parametrize("hostile", _DIRECTION_MARKS + _INVISIBLE)
def test_neither_a_pipe_nor_a_terminal_gets_what_makes_a_name_look_like_another(hostile: str) -> None:
    escape = hostile.encode("unicode_escape").decode()
    assert single_line(f"invoice{hostile}fdp.exe") == f"invoice{escape}fdp.exe"
    assert printable(f"invoice{hostile}fdp.exe") == f"invoice{escape}fdp.exe"


@needs_posix
@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/ann/notes/a.md", "a.md"),
        ("/home/ann/notes/sub/a.md", "sub/a.md"),
        ("/home/ann/notes", "~/notes"),
        ("/home/ann/other/a.md", "~/other/a.md"),
        ("/home/anna/a.md", "/home/anna/a.md"),
        ("/home/ann", "~"),
        ("/srv/a.md", "/srv/a.md"),
        ("/", "/"),
    ],
)
def test_a_path_is_shown_in_its_shortest_form(path: str, shown: str) -> None:
    assert PathStyle("/home/ann/notes", "/home/ann").format(file_path(path)) == shown


@needs_posix
def test_without_directories_a_path_is_absolute_and_exact() -> None:
    assert PathStyle().format(file_path("/srv/caf\udce9")) == "/srv/caf\udce9"


@needs_posix
def test_below_the_root_directory_nothing_is_lost() -> None:
    assert PathStyle("/", "").format(file_path("/srv/a")) == "srv/a"


@needs_posix
def test_a_link_opens_the_exact_file_at_its_page() -> None:
    assert file_uri(file_path("/a b/c\udce9#\x1b.pdf"), page=3) == "file:///a%20b/c%E9%23%1B.pdf#page=3"
