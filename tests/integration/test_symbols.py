"""Definitions and references of names, from what is indexed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.errors import UsageError
from directory_indexer.search.symbol_files import find_files_with_name
from directory_indexer.search.symbols import SymbolResult, Uses, find_symbol, symbol_notes, symbol_request
from directory_indexer.server.mcp import count_json_tokens, record_to_object
from directory_indexer.server.mcp.arguments import SymbolArguments
from directory_indexer.server.mcp.tools import format_locations, symbol_within_budget
from directory_indexer.text.formatting import PathStyle, plain
from directory_indexer.text.structure import symbol_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from indexes import Index

STORE = '''\
class Store:
    def put(self, key):
        """Put a key."""
        self.put_all([key])

    def put_all(self, keys):
        pass


class Cache:
    def put(self, key):
        pass


def open_store(path):
    return Store()
'''
APP = """\
from shop.store import Cache, open_store


def fill(store: Store, cache: Cache):
    store.put(1)
    cache.put(2)


def main():
    fill(open_store("."), Cache())


def other(open_store):
    return open_store(1)
"""
TEST = "from shop.store import open_store\n\n\ndef test_opening():\n    assert open_store('.')\n"


def shop(index: Index) -> None:
    index.write("shop/store.py", STORE)
    index.write("shop/app.py", APP)
    index.write("tests/test_store.py", TEST)
    index.write("guide.md", "# Guide\n\nCall open_store first.\n")
    index.run()


def symbol(index: Index, name: str, depth: int = 0) -> SymbolResult:
    with index.docstore.snapshot() as snapshot:
        return find_symbol(snapshot, symbol_request(name, depth=depth))


def lines(uses: Iterable[Uses], *, doubtful: bool = False) -> list[tuple[str, int, str]]:
    return [(one.symbol, use.line, use.how) for one in uses for use in one.uses if bool(use.doubt) == doubtful]


def test_uses_stand_by_what_encloses_them_and_calls_come_first(index: Index) -> None:
    shop(index)
    found = symbol(index, "open_store")
    [defined] = found.definitions
    assert (defined.definition.kind, defined.definition.start_line, defined.signature) == (
        "function",
        15,
        "def open_store(path):",
    )
    assert lines(found.code) == [("main", 10, "call"), ("", 1, "import")]
    assert lines(found.tests) == [("test_opening", 5, "call"), ("", 1, "import")]
    assert lines(found.documents) == [("", 3, "mention")]


def test_a_local_variable_of_the_same_name_is_marked_as_doubtful(index: Index) -> None:
    shop(index)
    doubtful = lines(symbol(index, "open_store").code, doubtful=True)
    assert doubtful == [("other", 13, "use"), ("other", 14, "call")]


def test_a_method_is_told_from_that_of_another_class_by_the_type_of_its_receiver(index: Index) -> None:
    shop(index)
    found = symbol(index, "Cache.put")
    assert [one.definition.start_line for one in found.definitions] == [11]
    assert lines(found.code) == [("fill", 6, "call")]
    assert ("fill", 5, "call") in lines(found.code, doubtful=True)


def test_a_name_may_stand_behind_its_module(index: Index) -> None:
    shop(index)
    assert len(symbol(index, "store.open_store").definitions) == 1
    assert not symbol(index, "app.open_store").definitions


def test_callers_are_followed_as_far_as_asked_and_end_in_circles(index: Index) -> None:
    index.write("a.py", "def a():\n    b()\n\ndef b():\n    c()\n\ndef c():\n    a()\n")
    index.run()
    found = symbol(index, "c", depth=5)
    assert [(one.symbol, one.depth) for one in found.callers] == [("b", 0), ("a", 1), ("c", 2)]


def test_an_answer_keeps_to_its_tokens_and_says_how_much_is_left_out(index: Index) -> None:
    index.write("a.py", "def name():\n    pass\n\n" + "".join(f"def f{n}():\n    name({n})\n\n" for n in range(400)))
    index.run()
    text = plain(symbol_lines(symbol(index, "name"), paths=PathStyle(), max_tokens=500))
    assert len(text.encode()) <= 1500
    assert "more lines" in text
    assert "code: 400 lines in 1 file" in text


@pytest.mark.parametrize("max_tokens", [200, 400, 1500])
def test_an_answer_to_an_assistant_keeps_to_its_tokens_and_says_what_to_call_next(
    index: Index, max_tokens: int
) -> None:
    index.write("a.py", "def name():\n    pass\n\n" + "".join(f"def f{n}():\n    name({n})\n\n" for n in range(400)))
    index.run()
    call = SymbolArguments("name", levels=2, max_tokens=max_tokens)
    with index.docstore.snapshot() as snapshot:
        answer = symbol_within_budget(snapshot, call, (), ())
        nowhere = symbol_within_budget(snapshot, call._replace(name="nowhere"), (), ())
    assert count_json_tokens(record_to_object(answer)) <= max_tokens
    assert max_tokens == 200 or "def name():" in format_locations(answer)  # a long path may leave no room for it
    assert "Next: get_content" in format_locations(answer)
    assert "Next: search" in format_locations(nowhere)


@pytest.mark.parametrize("name", ["", "two words", "../etc", "name(", "x" * 1_000_000])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="symbol name"):
        symbol_request(name)


def test_a_name_that_is_nowhere_is_no_error(index: Index) -> None:
    shop(index)
    assert not symbol(index, "nowhere_at_all").has_results


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [("open_stoer", "open_store"), ("Cahce", "Cache"), ("OpenStore", ""), ("STORE", "Store"), ("nowhere_at_all", "")],
)
def test_a_name_that_is_nowhere_may_be_a_misspelt_one(index: Index, typed: str, nearest: str) -> None:
    shop(index)
    found = symbol(index, typed)
    assert found.has_results is False
    assert found.nearest == nearest
    notes = (f"did you mean {nearest}?",) if nearest else ()
    with index.docstore.snapshot() as snapshot:
        answer = symbol_within_budget(snapshot, SymbolArguments(typed), (), ())
    assert symbol_notes(found) == answer.notes == notes


def test_a_text_is_parsed_once_and_anew_when_it_has_changed(index: Index) -> None:
    def parsed() -> object:
        with index.docstore.snapshot() as snapshot:
            [source] = find_files_with_name(snapshot, "name", ()).sources
        return source.file

    index.write("a.py", "def name():\n    pass\n")
    index.run()
    first = parsed()
    assert parsed() is first
    index.write("a.py", "\n\ndef name():\n    pass\n")
    index.run()
    assert parsed() is not first
    assert symbol(index, "name").definitions[0].definition.start_line == 3


def test_a_name_is_no_part_of_another_one_and_has_its_case(index: Index) -> None:
    index.write("a.py", "def size(): ...\n\nsize_of = Size = resize = file_size = size()\n")
    index.write("b.md", "Size and size_of, and size.\n")
    index.write("c.md", "Size and size_of.\n")
    index.run()
    found = symbol(index, "size")
    assert lines(found.code) == [("", 3, "call")]
    assert [one.path.rpartition("/")[2] for one in found.documents] == ["b.md"]


def test_very_many_definitions_leave_room_for_uses(index: Index) -> None:
    text = "".join(f"class Klass{n}:\n    def name(self, argument_{n}: int) -> int: ...\n\n" for n in range(30))
    index.write("a.py", f"{text}\nklass.name(1)\n")
    index.run()
    with index.docstore.snapshot() as snapshot:
        answer = format_locations(symbol_within_budget(snapshot, SymbolArguments("name", max_tokens=500), (), ()))
    assert "more definitions" in answer
    assert "klass.name(1)" in answer


def test_what_a_module_exports_is_followed_where_it_is_required(index: Index) -> None:
    index.write("lib/utils.js", "exports.kind = function (type) {\n  return inner(type)\n}\nfunction inner(t) {\n}\n")
    index.write("lib/reply.js", "var kind = require('./utils').kind;\nfunction send(x) {\n  kind(x)\n}\n")
    index.run()
    found = symbol(index, "inner", depth=2)
    assert [(one.symbol, one.depth) for one in found.callers] == [("kind", 0), ("send", 1)]
    assert [one.path.rpartition("/")[2] for one in symbol(index, "kind").definitions] == ["utils.js"]
