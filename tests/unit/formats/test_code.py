"""Definitions in source code of every language, with all that belongs to each."""

from __future__ import annotations

import tracemalloc
from textwrap import dedent

import pytest

from directory_indexer.formats.code import CODE_KINDS, extract_code
from directory_indexer.formats.document import Document, Section


def _parts(document: Document) -> list[tuple[str, str]]:
    """Return each section as its path and its text."""
    starts = [section.start for section in document.sections]
    texts = [document.text[start:end] for start, end in zip(starts, [*starts[1:], len(document.text)], strict=True)]
    return [(" > ".join(section.headings), text) for section, text in zip(document.sections, texts, strict=True)]


def _paths(kind: str, source: str) -> list[str]:
    return [path for path, _ in _parts(extract_code(dedent(source), kind))]


SAMPLES = {
    "bash": (
        """\
        set -e
        # Says hello.
        greet() {
          echo hello
        }
        function leave { exit 0; }
        """,
        ["", "greet", "leave"],
    ),
    "c": (
        """\
        #include <stdio.h>

        struct store {
            int size;
        };

        typedef struct {
            int x;
        } point_t;

        static const int table[] = {
            1, 2,
        };

        char **open_all(const char *path) {
            return 0;
        }

        #define MAX(a, b) \\
            ((a) > (b) ? (a) : (b))
        """,
        ["", "store", "point_t", "table", "open_all", "MAX"],
    ),
    "cpp": (
        """\
        namespace app {
        template <typename T>
        class Store : public Base {
         public:
          Store() {}
          T& get(int key) const { return values[key]; }
        };

        int Store<int>::count() {
          return 0;
        }
        }  // namespace app
        """,
        ["app", "app > Store", "app > Store > Store", "app > Store > get", "app > Store<int>::count"],
    ),
    "csharp": (
        """\
        using System;

        namespace App {
            [Serializable]
            public class Store : IStore {
                public Store() { }
                public int Open(string path) {
                    return 0;
                }
            }
        }
        """,
        ["", "App", "App > Store", "App > Store > Store", "App > Store > Open"],
    ),
    "elixir": (
        """\
        defmodule App.Store do
          use GenServer

          @doc "Opens it."
          def open(path) when is_binary(path) do
            path
          end

          defp close, do: :ok
        end
        """,
        ["App.Store", "App.Store > open", "App.Store > close"],
    ),
    "go": (
        """\
        package store

        // Store holds files.
        type Store struct {
            path string
        }

        func (s *Store) Open(path string) error {
            return nil
        }

        func New() *Store {
            return &Store{}
        }
        """,
        ["", "Store", "Store > Open", "New"],
    ),
    "haskell": (
        """\
        module Store where

        -- | Opens a store.
        open :: FilePath -> Store
        open "" = Empty
        open path = Store path

        data Store = Empty | Store FilePath

        instance Show Store where
          show Empty = "empty"
        """,
        ["", "open", "Store", "Show Store", "Show Store > show"],
    ),
    "java": (
        """\
        package app;

        /** Holds files. */
        @Component
        public class Store implements Closeable {
            private final String path;

            public Store(String path) {
                this.path = path;
            }

            @Override
            public void close() { }

            enum State { OPEN, CLOSED }
        }
        """,
        ["", "Store", "Store > Store", "Store > close", "Store > State"],
    ),
    "javascript": (
        """\
        import fs from 'fs';

        export default class Store {
          open(path) {
            return path;
          }
        }

        const close = (store) => {
          return null;
        };

        exports.find = function (query) {
          return [];
        };

        const limits = {
          files: 10,
        };

        describe('a store', () => {
          it('opens', () => {
            open();
          });
        });
        """,
        ["", "Store", "Store > open", "close", "exports.find", "limits", "'a store'", "'a store' > 'opens'"],
    ),
    "kotlin": (
        """\
        package app

        /** Holds files. */
        class Store(val path: String) : Closeable {
            companion object {
                fun create() = Store("")
            }

            override fun close() {
                done()
            }
        }

        object Single {
            val x = 1
        }
        """,
        ["", "Store", "Store > companion", "Store > companion > create", "Store > close", "Single"],
    ),
    "lua": (
        """\
        local M = {}

        -- Opens it.
        function M.open(path)
          return path
        end

        local close = function()
          return nil
        end

        return M
        """,
        ["", "M.open", "close", ""],
    ),
    "php": (
        """\
        <?php
        namespace App;

        /** Holds files. */
        class Store implements Countable
        {
            public function open(string $path): bool
            {
                return true;
            }
        }

        function close(): void
        {
        }
        """,
        ["", "Store", "Store > open", "close"],
    ),
    "powershell": (
        """\
        # Opens it.
        function Open-Store {
            param($Path)
            return $Path
        }

        class Store {
            [string] $Path
            [void] Close() {
            }
        }
        """,
        ["Open-Store", "Store", "Store > Close"],
    ),
    "python": (
        '''\
        """A store."""
        import os

        # How many.
        LIMITS = {
            "files": 10,
        }

        @dataclass
        class Store:
            """Holds files."""

            path: str

            # Opens it.
            @property
            async def open(self):
                def inner():
                    return 1
                return inner

            size = 3

        def close(store): ...
        ''',
        ["", "LIMITS", "Store", "Store > open", "Store > open > inner", "Store > open", "Store", "close"],
    ),
    "ruby": (
        """\
        require 'set'

        module App
          # Holds files.
          class Store < Base
            def open(path)
              path
            end

            def self.create
              new
            end
          end
        end
        """,
        ["", "App", "App > Store", "App > Store > open", "App > Store > create"],
    ),
    "rust": (
        """\
        use std::fs;

        /// Holds files.
        #[derive(Debug)]
        pub struct Store<T> {
            path: T,
        }

        impl<T> Store<T> {
            pub fn open(path: T) -> Self {
                Self { path }
            }
        }

        impl Drop for Store<u8> {
            fn drop(&mut self) {
                close();
            }
        }

        mod tests {
            #[test]
            fn it_opens() {
                open();
            }
        }
        """,
        [
            "",
            "Store",
            "Store<T>",
            "Store<T> > open",
            "Drop for Store<u8>",
            "Drop for Store<u8> > drop",
            "tests",
            "tests > it_opens",
        ],
    ),
    "scala": (
        """\
        package app

        /** Holds files. */
        case class Store(path: String) extends Base {
          def open(): Int = {
            1
          }
        }

        object Store {
          val limits = List(
            1,
          )
        }
        """,
        ["", "Store", "Store > open", "Store", "Store > limits"],
    ),
    "swift": (
        """\
        import Foundation

        /// Holds files.
        @available(iOS 13, *)
        public final class Store {
            let path: String

            init(path: String) {
                self.path = path
            }

            func open() -> Int {
                1
            }
        }

        extension Store: Closeable {
            func close() {
                done()
            }
        }
        """,
        ["", "Store", "Store > init", "Store > open", "Store", "Store > close"],
    ),
    "tsx": (
        """\
        import React from 'react';

        export const Button = ({ label }: Props) => {
          return <button>{label}</button>;
        };
        """,
        ["", "Button"],
    ),
    "typescript": (
        """\
        import { a } from './a';

        export interface Store {
          path: string;
        }

        type Shape = {
          x: number;
        };

        export abstract class Base<T> {
          private open(path: string): void {
            run();
          }
        }

        namespace app {
          export function close(): void {
            run();
          }
        }

        enum State {
          Open,
        }
        """,
        ["", "Store", "Shape", "Base", "Base > open", "app", "app > close", "State"],
    ),
    "zig": (
        """\
        const std = @import("std");

        /// Holds files.
        pub const Store = struct {
            path: []const u8,

            pub fn open(path: []const u8) Store {
                return .{ .path = path };
            }
        };

        test "opens" {
            open();
        }
        """,
        ["", "Store", "Store > open", '"opens"'],
    ),
}


def test_there_is_a_sample_of_every_language() -> None:
    assert set(SAMPLES) == CODE_KINDS


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_every_definition_is_a_section(kind: str) -> None:
    source, paths = SAMPLES[kind]
    assert _paths(kind, source) == paths


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_windows_line_ends_make_no_difference(kind: str) -> None:
    source, paths = SAMPLES[kind]
    assert [path for path, _ in _parts(extract_code(dedent(source).replace("\n", "\r\n"), kind))] == paths


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_sections_begin_at_the_start_of_a_line(kind: str) -> None:
    source = dedent(SAMPLES[kind][0])
    document = extract_code(source, kind)
    assert document.sections[0].start == 0
    assert all(source[section.start - 1] == "\n" for section in document.sections[1:])


def test_comments_attributes_and_decorators_belong_to_what_they_stand_above() -> None:
    source = "import os\n\n# About f.\n# More.\n@cache\n# Why cached.\n@other(\n    1,\n)\ndef f():\n    pass\n"
    assert _parts(extract_code(source, "python")) == [("", "import os\n\n"), ("f", source[11:])]


def test_a_comment_belongs_to_what_it_stands_above_with_one_blank_line_between() -> None:
    source = "var a = 1;\n\n/**\n * Sends.\n */\n\nres.send = function send(body) {\n  return body;\n};\n"
    assert _parts(extract_code(source, "javascript")) == [("", "var a = 1;\n\n"), ("res.send", source[12:])]


def test_a_comment_far_above_a_definition_is_not_part_of_it() -> None:
    source = "# Of the file.\n\n\ndef f():\n    pass\n"
    assert _parts(extract_code(source, "python")) == [("", "# Of the file.\n\n\n"), ("f", "def f():\n    pass\n")]


def test_a_comment_at_the_end_of_a_body_is_not_part_of_what_follows() -> None:
    source = "class A:\n    def f(self):\n        pass\n        # The end of f.\n\ndef g():\n    pass\n"
    assert dict(_parts(extract_code(source, "python")))["g"] == "def g():\n    pass\n"


def test_a_comment_at_another_indentation_is_not_part_of_what_follows() -> None:
    source = "int a;\n    // Of a.\nint f() {\n  return a;\n}\n"
    assert _parts(extract_code(source, "c"))[1] == ("f", source[20:])


def test_a_comment_behind_code_is_not_part_of_what_follows() -> None:
    source = "x = 1  # One.\ndef f():\n    pass\n"
    assert _parts(extract_code(source, "python")) == [("", "x = 1  # One.\n"), ("f", "def f():\n    pass\n")]


def test_what_closes_the_last_line_of_a_definition_is_part_of_it() -> None:
    source = "const f = () => {\n  g();\n}; // f\nconst x = 1;\n"
    assert _parts(extract_code(source, "javascript")) == [("f", source[:-13]), ("", "const x = 1;\n")]


def test_closing_brackets_are_no_section_of_their_own() -> None:
    source = "namespace a {\nnamespace b {\nint f() {\n  return 1;\n}\n\n}  // namespace b\n}  // namespace a\n"
    assert _parts(extract_code(source, "cpp"))[-1] == ("a > b > f", source[28:])


def test_definitions_on_one_line_stay_together() -> None:
    source = "class A { int f() { return 1; } int g() { return 2; } }\nclass B { }\n"
    assert _paths("java", source) == ["A", "B"]


def test_two_definitions_on_one_line_are_cut_between_them() -> None:
    source = "function a() { return 1 } function b() { return 2 }\n"
    assert _parts(extract_code(source, "javascript")) == [
        ("a", "function a() { return 1 } "),
        ("b", "function b() { return 2 }\n"),
    ]


def test_signatures_and_clauses_of_one_function_are_one_section() -> None:
    source = "function f(a: string): void;\nfunction f(a: number): void;\nfunction f(a: any) {\n  g(a);\n}\n"
    assert _parts(extract_code(source, "typescript")) == [("f", source)]


def test_characters_are_counted_and_not_bytes() -> None:
    source = "# Größe 😀\nx = 'ü'\n\n\ndef größe():\n    return 'ß'\n\n\ndef 名前():\n    pass\n"
    document = extract_code(source, "python")
    assert document.sections == (
        Section(0),
        Section(source.index("def g"), ("größe",)),
        Section(source.index("def 名"), ("名前",)),
    )


def test_lone_surrogates_and_nul_are_text_like_any_other() -> None:
    source = "x = '\ud800\0'\n\n\ndef f():\n    return '\udfff'\n"
    assert extract_code(source, "python").sections[1] == Section(source.index("def"), ("f",))


@pytest.mark.parametrize("kind", sorted(CODE_KINDS))
@pytest.mark.parametrize("source", ["", "\n", "}}}} ((( def class \x00 {{{", "a" * 5000, "\n" * 5000])
def test_what_is_no_code_is_still_a_document(kind: str, source: str) -> None:
    document = extract_code(source, kind)
    assert document.text == source
    assert not document.sections or document.sections[0].start == 0


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_a_file_that_breaks_off_still_has_its_first_definitions(kind: str) -> None:
    source, paths = SAMPLES[kind]
    broken = dedent(source) + dedent(source)[: len(dedent(source)) * 2 // 3]
    names = {path.rpartition(" > ")[2] for path in _paths(kind, broken)}
    assert names & {path.rpartition(" > ")[2] for path in paths} - {""}


def test_deep_nesting_neither_fails_nor_makes_endless_paths() -> None:
    n_levels = 3000
    source = "".join(f"function f{level}() {{\n" for level in range(n_levels)) + "}\n" * n_levels
    paths = [section.headings for section in extract_code(source, "javascript").sections]
    assert max(paths, key=len) == tuple(f"f{level}" for level in range(8))


def test_what_cannot_be_parsed_at_all_is_left_in_one_piece() -> None:
    source = "def f():\n    pass\n" + "(" * 50_000
    assert extract_code(source, "python") == Document(source, "python")


def test_a_file_that_takes_too_long_is_left_in_one_piece() -> None:
    source = "def f():\n    pass\n" * 1000
    assert extract_code(source, "python", seconds=0) == Document(source, "python")


def test_a_file_that_took_too_long_leaves_the_next_one_alone() -> None:
    source = "def f():\n    pass\n"
    extract_code(source * 1000, "python", seconds=0)
    assert _paths("python", source) == ["f"]


def test_a_name_of_any_length_is_cut() -> None:
    (section,) = extract_code(f"def {'n' * 5000}():\n    pass\n", "python").sections
    assert section.headings == ("n" * 100,)


def test_text_that_was_parsed_does_not_stay_in_memory() -> None:
    source = "int number;\n" * 30_000
    extract_code(source, "c")
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(3):
            extract_code(source, "c")
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < len(source) / 2
