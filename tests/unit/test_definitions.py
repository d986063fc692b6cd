"""The line that defines a name, in whatever language, and not one that uses it."""

from __future__ import annotations

import pytest

from directory_indexer.ranking.definitions import definition_form, names_in
from directory_indexer.ranking.query import parse_query

DEFINITIONS = (
    "def handle(self):", "    async def handle(self):", "class handle(Base):", "func (s *Server) handle(w Writer) {",
    "pub fn handle<T>(&self) -> T {", "function handle(a, b) {", "  handle(event) {", "const handle = (a) => {",
    "static int handle(struct list *head)", "void Server::handle(int a) {", "#define handle(x) ((x) + 1)",
    "handle = 3", "handle: int = 3", "type handle struct {", "defmodule App.handle do", "  def handle do",
    "public static void handle(String[] args) {", "handle() {", "## How handle works", "  handle: 30",
    "#  define handle 1", "res.handle = function (a) {", "impl handle {", "struct handle {", "struct handle",
    "typedef struct node handle;", "enum handle { ONE };", "class handle final : public Base {",
    "type handle map[string][]string", "var handle error = f()", "def handle name, age", "def handle, do: 1",
    "let square handle = handle", "data handle a = Leaf", "pub struct handle(u32);", "public struct handle : Base",
)  # fmt: skip
USES = (
    "x = handle(1)", "return handle(a)", "    handle(1);", "if handle(a) {", "from a import handle", "self.handle(a)",
    "handled = 1", "# def handle is elsewhere", "// handle = 3", "print(handle)", "new handle(a) {", "handle == 3",
    "class A extends handle {", "struct A : handle {", "fn f<T: handle>(a: T) {", "int f(struct handle *a)",
    "struct handle a;", "    struct handle *a = b;", "size_t n = sizeof(struct handle);", "int f(struct node *handle)",
    "bool f(struct node *handle, int n)", "static struct handle *last;", "static struct handle empty = {0};",
)  # fmt: skip


@pytest.mark.parametrize("line", DEFINITIONS)
def test_a_definition_is_found_among_uses(line: str) -> None:
    text = "\n".join([*USES, line, *USES])
    at = definition_form(["handle"], text)
    assert at is not None
    assert text.count("\n", 0, at) == len(USES)


def test_a_use_is_no_definition() -> None:
    assert definition_form(["handle"], "\n".join(USES)) is None


def test_a_surer_form_comes_before_an_earlier_line() -> None:
    text = "handle = None\n\ndef handle():\n    pass\n"
    assert definition_form(["handle"], text) == text.index("handle():")


def test_what_a_definition_belongs_to_comes_after_the_definition() -> None:
    text = "impl Door {\n}\n\npub struct Door {\n}\n"
    assert definition_form(["Door"], text) == text.index("Door {", 12)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("handle_14", ("handle_14",)),
        ("Server.handle", ("handle",)),
        ("class Server", ("class", "Server")),
        ("how does the handle_14 of doors work", ("handle_14",)),
        ("how do doors work", ()),
    ],
)
def test_names_are_identifiers_or_the_words_of_a_short_query(query: str, names: tuple[str, ...]) -> None:
    assert names_in(parse_query(query)) == names


def test_a_hostile_line_takes_no_time() -> None:
    assert definition_form(["handle"], "*&" * 5_000 + "handle(" + "(" * 5_000) is None
