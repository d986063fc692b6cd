"""Definitions in source texts, read by their lines."""

from __future__ import annotations

import time

import pytest
from growth import require_linear
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.search.symbol_scopes import SourceModule
from directory_indexer.search.symbol_source import SourceText


def definitions(kind: str, text: str) -> list[tuple[str, str, int, int]]:
    return [(one.qualified, one.kind, one.start_line, one.end_line) for one in SourceText(text, kind).definitions]


def test_a_definition_ends_before_what_stands_beside_it() -> None:
    text = "class A:\n    def f(\n        self,\n    ) -> int:\n        return 1\n\n    async def g(self): ...\n"
    text += "\n\ndef h(): pass\n"
    assert definitions("python", text) == [
        ("A", "class", 1, 7),
        ("A.f", "method", 2, 5),
        ("A.g", "method", 7, 7),
        ("h", "function", 10, 10),
    ]


def test_what_comments_and_strings_define_is_no_definition() -> None:
    text = '# def a():\n"""\ndef b():\n"""\ndef c():\n    """def d():"""\n'
    assert [name for name, *_ in definitions("python", text)] == ["c"]


def test_interpolated_code_is_code() -> None:
    assert "name(x)" in SourceText('f"{name(x)} name"\n', "python").code
    assert "name(x)" in SourceText("`${name(x)} name`\n", "javascript").code
    assert "name" not in SourceText('"{name}"\n', "python").code


def test_containers_with_endless_names_are_read_in_linear_time() -> None:
    def read(length: int) -> object:
        head = f"class {'A' * (length // 4)}:\n  class {'B' * (length // 4)}:\n"
        return SourceText(head + "    def c(): 1\n" * (length // 32), "python").definitions

    require_linear(read, 200_000)


SOURCES = {
    "go": ("type Pool struct {\n\tn int\n}\n\nfunc (p *Pool) Get(n int) error {\n\treturn nil\n}\n", "Pool Pool.Get"),
    "rust": ("impl Read for Pool {\n    pub fn get<T>(&self) -> T {\n        x\n    }\n}\n", "Pool Pool.get"),
    "java": (
        "public class Pool {\n    int n = 1;\n    public int get(int n) {\n        return n;\n    }\n}\n",
        "Pool Pool.get",
    ),
    "csharp interface": ("interface Pool {\n    int Get(int n);\n    Pool New();\n}\n", "Pool Pool.Get Pool.New"),
    "javascript class": ("class A {\n  getB(){\n    x()\n  }\n  static async c() {\n  }\n}\n", "A A.getB A.c"),
    "cpp": ("int Pool::get(int n) const {\n    if (n) {\n        return n;\n    }\n}\n", "Pool.get"),
    "typescript": ("export class Pool {\n  async get(n: number): Promise<void> {\n    x();\n  }\n}\n", "Pool Pool.get"),
    "javascript": ("res.send = function send(b) {\n  return 1;\n};\nconst f = async (x) => {\n};\n", "res.send f"),
    "ruby": (
        "module Rack\n  class Pool\n    def get?(n)\n      n\n    end\n  end\nend\n",
        "Rack Rack.Pool Rack.Pool.get?",
    ),
    "elixir": ("defmodule A.Pool do\n  defp get(n) do\n    n\n  end\nend\n", "Pool Pool.get"),
    "kotlin": (
        "class Pool(val n: Int) {\n    suspend fun get(n: Int): Int {\n        return n\n    }\n}\n",
        "Pool Pool.get",
    ),
    "csharp": (
        "namespace X\n{\n  class Pool\n  {\n    public int Get(int n)\n    {\n      x();\n    }\n  }\n}\n",
        "X X.Pool X.Pool.Get",
    ),
    "php": ("class Pool {\n    public function get($n) {\n        return $n;\n    }\n}\n", "Pool Pool.get"),
    "swift": ("final class Pool {\n    func get(_ n: Int) -> Int {\n        n\n    }\n}\n", "Pool Pool.get"),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_definitions_are_found_in_many_languages(kind: str) -> None:
    text, names = SOURCES[kind]
    assert [name for name, *_ in definitions(kind.partition(" ")[0], text)] == names.split()


def test_a_line_lies_in_the_innermost_definition_around_it() -> None:
    source = SourceText("def f():\n    def g():\n        return 1\n    return g\n\nx = 1\n", "python")
    names = [one.qualified if (one := source.enclosing(line)) else "" for line in range(1, 7)]
    assert names == ["f", "f.g", "f.g", "f", "", ""]


@given(
    st.text(alphabet="defclass(){}[]:;.,'\"`#/*\\ \n\tax=<>-", max_size=300),
    st.sampled_from(["python", "c", "go", "tsx"]),
)
def test_no_text_is_too_odd_to_be_read(text: str, kind: str) -> None:
    source = SourceText(text, kind)
    assert len(source.code) == len(text)
    assert source.code.count("\n") == text.count("\n")
    assert all(1 <= one.start_line <= one.end_line <= text.count("\n") + 1 for one in source.definitions)


def test_what_follows_very_deep_definitions_is_read() -> None:
    deep = "".join(f"{'    ' * depth}def f{depth}():\n" for depth in range(20)) + "    " * 20 + "pass\n"
    assert [name for name, *_ in definitions("python", f"{deep}\n\ndef after():\n    pass\n")][-1] == "after"


def reading_seconds(text: str, kind: str) -> float:
    """Return the processor time that reading a text takes, the least of three."""

    def seconds() -> float:
        began = time.process_time()
        file = SourceModule(SourceText(text, kind))
        assert file.source.definitions is not None
        assert file.imported_modules is not None
        file.base_names("a")
        return time.process_time() - began

    return min(seconds() for _ in range(3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "text", "end"),
    [
        ("python", '"""a\n\\', "\\"),
        ("rust", "impl\t", ""),
        ("rust", "impl<A> for ", ""),
        ("rust", "implaaaaaaaa", ""),
        ("java", "\npub(", ""),
        ("cpp", "a<b (", ""),
        ("typescript", "a = (b) ", ""),
        ("go", "func (a ", ""),
        ("python", "class A(B, ", ""),
        ("python", "from a import (\n", ""),
        ("javascript", "import {a\n", ""),
    ],
)
def test_the_time_of_reading_grows_with_the_size_alone(kind: str, text: str, end: str) -> None:
    n = 40_000 // len(text)
    assert reading_seconds(text * 4 * n + end, kind) < 12 * reading_seconds(text * n + end, kind) + 0.1


def test_a_receiver_of_go_without_an_end_takes_time_in_proportion_to_its_length() -> None:
    require_linear(lambda length: SourceText(f"func ({'a' * length}\n", "go").definitions, 100_000)


@pytest.mark.parametrize(
    "text", ["(" * 100_000, "a " * 50_000, "class " * 20_000, "/*" * 50_000, '"' * 100_001, "\n \t" * 40_000]
)
@pytest.mark.parametrize("kind", ["python", "c", "typescript", "rust"])
def test_hostile_text_takes_as_long_as_its_size(text: str, kind: str) -> None:
    assert len(SourceText(text, kind).definitions) < 3  # a pattern that goes back and forth would not end
