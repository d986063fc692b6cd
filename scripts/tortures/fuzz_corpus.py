"""Real files of every kind to begin with: those of this repository and of the system, and some made here."""

# ruff: noqa: E501 - a sample is a line

from __future__ import annotations

import json
import sysconfig
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pymupdf

from directory_indexer.formats.table import FORMATS

if TYPE_CHECKING:
    import random

REPOSITORY = Path(__file__).resolve().parent.parent.parent
_PLACES = (
    *(REPOSITORY / name for name in ("directory_indexer", "docs", "scripts", "tests")),
    *map(Path, ("/usr/include", "/usr/share/doc", "/usr/lib/python3", "/usr/share/perl5", "/usr/share/vim")),
    Path(sysconfig.get_paths()["stdlib"]),
    Path(sysconfig.get_paths()["purelib"]),
)
_MOST_BYTES = 60_000
_MOST_OF_A_SUFFIX = 60

_CODE = {
    "sh": 'f() { local a="$1"; case $a in x) echo "${a%%.*}";; esac; }\ncat <<EOF\n$(f x)\nEOF\n',
    "c": "#define M(a) ((a)+1)\nstruct s { int *a[3]; };\nstatic int *f(int (*g)(void)) { return g ? 0 : &M(1); }\n",
    "cpp": "template<class T, int N = (1>0)> requires C<T> class A : B<T> { T &operator[](int) { return x<y>(1); } };\n",
    "cs": "namespace N { record R(int A); class C<T> where T : new() { int P => 1; T F<U>(U u) => u is T t ? t : new(); } }\n",
    "ex": 'defmodule A do\n  @doc """\n  d\n  """\n  def f(x) when x > 1, do: ~s(#{x})\nend\n',
    "go": "package a\n\nfunc (r *R[T]) F(x ...int) (y chan<- int) {\n\tgo func() { `raw` }()\n}\n",
    "hs": "module A where\n-- | doc\nf :: (Eq a) => a -> a\nf x = case x of\n  y | y == x -> y\ninstance C A where\n  g = f\n",
    "java": "package a; @A(b = {1}) public sealed class C<T extends D & E> { int f() { return switch (x) { case 1 -> 2; }; } }\n",
    "js": "export default class A extends B { #x = () => `${this.#x}`; async *f({a, ...b} = {}) { yield /[/]\\//.test(a) } }\n",
    "kt": 'data class A<T : Any>(val b: T?) { companion object { fun f(x: () -> Unit) = """${x()}""" } }\n',
    "lua": "local t = { f = function(...) return [==[ a ]] ]==] end }\nfunction t.a:b() goto x ::x:: end\n",
    "php": "<?php\nnamespace A; abstract class B { use C; function f(?int ...$a): static { return <<<X\n {$a[0]}\nX; } }\n?>html\n",
    "ps1": 'function Get-A { param([string]$B) @"\n$($B.C)\n"@ | % { $_ } }\nclass D : E { [int] F() { return 1 } }\n',
    "py": 'class A(B, metaclass=C):\n    """Doc."""\n    @d\n    async def f(self, *, a: int = 1) -> None:\n        f"{a!r:>{a}}"\n',
    "rb": "module A\n  class B < C\n    def self.f(a:, **k) = <<~X\n      #{a}\n    X\n    %w[a b].each { |x| x&.y }\n  end\nend\n",
    "rs": "impl<'a, T: ?Sized> A for B<'a, T> where T: C { fn f(&self) -> r#\"x\"# { macro_rules! m { ($a:expr) => {} } } }\n",
    "scala": 'package a\nobject B extends C:\n  given D[E] with\n    def f[A](x: => A)(using B) = s"${x}" match { case _ => }\n',
    "swift": '@A public final class B<T>: C where T: D { subscript(i: Int) -> T { #if X\n x #endif } init?() {} }\n#"raw"#\n',
    "tsx": "const A: FC<P> = <T,>({a}: P) => <B.C x={`${a}`}>{a as any}</B.C>;\n",
    "ts": "declare module 'a' { export type B<T> = T extends infer U ? {[K in keyof U]: U[K]} : never }\nabstract class C {}\n",
    "zig": 'const A = struct { fn f(comptime T: type) !?*T { return error.X; } };\ntest "a" { _ = \\\\raw\n; }\n',
}
_OTHERS = {
    "html": "<!doctype html><title>T</title><h1 id=a>A<p>b &amp; c<script>1</script><table><tr><td>x</table><!-- c -->",
    "csv": 'a,b,"c ""d"" e"\n1,2,3\n' * 20,
    "tsv": "a\tb\n1\t2\n" * 20,
    "json": json.dumps({"a": [1, 2.5, None, True, {"b": "c\u00e9\\n"}], "d": {"e": {"f": ["g"] * 9}}}, indent=1),
    "jsonl": '{"a": 1}\n{"b": [2]}\n' * 20,
    "yaml": "a: &x\n  - b: 'c'\n    d: |\n      e\n  - *x\n--- !t\n? k\n: {f: [g, \"h\"]}\n",
    "toml": 'a = 1\n[b."c.d"]\ne = [1, {f = 1979-05-27T07:32:00Z}]\n[[g]]\nh = """i"""\n',
    "md": '---\ntitle: T\n---\n# A\n\nb `c` [d](e "f")\n\n```py\nx\n```\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\nB\n===\n> q\n1. l\n',
    "rst": "=====\nTitle\n=====\n\n.. note:: a\n\n   b\n\nSub\n---\n\n``c`` `d <e>`_ |f|\n\n::\n\n  g\n",
    "adoc": "= T\n:a: b\n\n== S\n\n----\nc\n----\n\n* d\n",
    "tex": "\\documentclass{a}\\begin{document}\\section{B}c $d^{e}$ % f\n\\end{document}\n",
    "org": "#+TITLE: T\n* A :tag:\n** TODO B\n#+BEGIN_SRC c\nx\n#+END_SRC\n",
    "xml": '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a x="1">&b;<![CDATA[d]]><e/></a>',
    "svg": '<svg xmlns="http://www.w3.org/2000/svg"><title>T</title><text>a</text></svg>',
    "eml": "From: a@b\nSubject: =?utf-8?q?c?=\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nd\n--x--\n",
    "ini": "[a]\nb = c ; d\n",
    "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-c\n+d\n",
    "po": 'msgid "a"\nmsgstr "b"\n',
    "srt": "1\n00:00:01,000 --> 00:00:02,000\nwords\n",
    "ipynb": json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"kernelspec": {"language": "python"}},
            "cells": [
                {"cell_type": "markdown", "metadata": {}, "source": ["# A\n", "b"]},
                {
                    "cell_type": "code",
                    "metadata": {},
                    "execution_count": 1,
                    "source": "print(1)",
                    "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}],
                },
            ],
        }
    ),
}
SUFFIXES = tuple(
    suffix for file_format in FORMATS.values() if file_format.is_text for suffix in file_format.suffixes.split()
)


@cache
def corpus() -> dict[str, list[bytes]]:
    """Return real contents by suffix; no more of one suffix than of others, as far as there are any."""
    contents_by_suffix = {suffix: [text.encode()] for suffix, text in {**_CODE, **_OTHERS}.items()}
    contents_by_suffix["pdf"] = [_pdf(n_pages) for n_pages in (1, 3, 30)]
    for place in _PLACES:
        for path in sorted(place.rglob("*.*")):
            suffix = path.suffix[1:].lower()
            of_suffix = (
                contents_by_suffix.setdefault(suffix, [])
                if suffix in SUFFIXES
                else contents_by_suffix.get(suffix, [b""] * _MOST_OF_A_SUFFIX)
            )
            if len(of_suffix) < _MOST_OF_A_SUFFIX and path.is_file() and path.stat().st_size <= _MOST_BYTES:
                of_suffix.append(path.read_bytes())
    return contents_by_suffix


def some_file(chance: random.Random) -> tuple[str, bytes]:
    """Choose a suffix, then a content of it."""
    of_suffix = corpus()
    suffix = chance.choice(sorted(_CODE) if chance.random() < 0.3 else sorted(of_suffix))  # noqa: PLR2004
    return suffix, chance.choice(of_suffix[suffix])


def _pdf(n_pages: int) -> bytes:
    with pymupdf.open() as document:
        for number in range(n_pages):
            page = document.new_page()
            page.insert_text((72, 72), f"Heading {number}", fontsize=20)
            page.insert_textbox((72, 100, 500, 700), f"Some words of page {number}. " * 40)
        document.set_toc([[1, f"Heading {number}", number + 1] for number in range(n_pages)])
        content: bytes = document.tobytes(deflate=n_pages > 1)
        return content
