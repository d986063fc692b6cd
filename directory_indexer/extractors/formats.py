"""Which formats there are: how each is recognised, what people call it, and what reads it. One row is one format.

A binary format is added by a module that reads it and by its row, which names that module in the block of imports. Each
module is imported for the first file that it reads: all of them take 10 ms, tree-sitter 15 and pymupdf 2 s, and an
edited file needs one. A suffix is at once the short name that people type, so `--type py` needs no entry of its own.

Pygments knows more formats, but costs 35 ms to import and takes `*.module` for JSON and `*.load` for fish; identify
lacks a third of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Final, Literal, NamedTuple, TypeAlias

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.extractors.budget import Budget
    from directory_indexer.extractors.code import extract_code
    from directory_indexer.extractors.decoding import decode
    from directory_indexer.extractors.document import Document
    from directory_indexer.extractors.html import extract_html, extract_svg
    from directory_indexer.extractors.markdown import extract_markdown
    from directory_indexer.extractors.markup import extract_markup
    from directory_indexer.extractors.members import Contents
    from directory_indexer.extractors.notebook import extract_notebook
    from directory_indexer.extractors.pdf import extract_pdf
    from directory_indexer.extractors.plain import extract_plain
    from directory_indexer.extractors.restructuredtext import extract_restructuredtext
    from directory_indexer.extractors.structured import extract_json, extract_rows, extract_tables, extract_yaml

Group: TypeAlias = Literal["code", "docs", "data"]


class Decoded:
    """Reads the bytes of a text: decodes them for an extractor that takes text."""

    def __init__(self, extract_text: Callable[[str, str], Document]) -> None:
        self._extract_text = extract_text

    def __call__(self, content: bytes, kind: str, _: Budget) -> Document:
        """Turn the bytes of a file into a document of a kind."""
        return self._extract_text(decode(content), kind)


class Format(NamedTuple):
    """A kind of file: words are separated by blanks, suffixes have no dot, and all are in lower case."""

    group: Group
    suffixes: str
    extract: Callable[[bytes, str, Budget], Document] = Decoded(extract_plain)
    """Turns the bytes of a file into a document of the kind that is given, within a budget."""

    open: Callable[[BinaryIO, str, Budget], Contents] | None = None
    """Reads a container instead: a file of which members are documents of their own."""

    is_isolated: bool = False
    """Whether it is always read in a worker process, for what reads it is native code that may break."""

    sniff: Callable[[bytes, bool], bool] | None = None
    """Tells whether a file has the format by its beginning, and whether it has the suffix, which alone says nothing.

    Binary formats have one, and it comes before every name. It is asked of files that have the suffix or begin with the
    `header`, and of no others: so it may stand in the module that reads the format, and is imported with it.
    """

    header: bytes = b""
    """How a file of a binary format begins whose name says nothing."""

    opening: bytes = b""
    """How a text of this format begins, as a pattern, for files whose names say nothing; the first that fits counts."""

    names: str = ""
    """What whole files are called that have no suffix, or another."""

    aliases: str = ""
    """What else people and editors call it."""

    @property
    def is_text(self) -> bool:
        """Tell whether a file of this format can be read as plain text, too."""
        return isinstance(self.extract, Decoded)


def _is_pdf(head: bytes, is_named: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    # It stands here since the module that reads PDF takes 2 s to import, and a note may have the suffix.
    # The header may stand anywhere in the first 1024 bytes; without the suffix only the very start is trusted.
    return head.startswith(_PDF_HEADER) or (is_named and _PDF_HEADER in head[:1024])


_PDF_HEADER: Final = b"%PDF-"
_BY_GRAMMAR: Final = Decoded(extract_code)

_HTML: Final = rb"(?i)\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html|<html)\b"
_SVG: Final = rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)?(?:<!DOCTYPE svg[^>]*>\s*)?<svg\b"
_XML: Final = rb"\s*<\?xml\b"
_MAN: Final = rb"(?:[.']\\\"[^\n]*+\n|[ \t]*+\n)*+\.(?:TH|Dd|SH)\s"
_DIFF: Final = rb"diff --git |Index: |--- [^\n]+\n\+\+\+ "
_JSON: Final = rb"\s*[{\[]\s*(?:\{\s*)?\"(?:[^\"\\\n]|\\.)*\"\s*:"
_PHP: Final = rb"\s*<\?php\b"

FORMATS: Final[dict[str, Format]] = {
    "ada": Format("code", "ada adb ads"),
    "apex": Format("code", "apex"),
    "applescript": Format("code", "applescript"),
    "asm": Format("code", "asm s nasm"),
    "astro": Format("code", "astro"),
    "awk": Format("code", "awk", aliases="gawk mawk nawk"),
    "bash": Format(
        "code",
        "sh bash zsh ksh ash dash bats ebuild",
        _BY_GRAMMAR,
        is_isolated=True,
        names=".bashrc .bash_profile .bash_aliases .bash_logout .profile .zshrc .zshenv .zprofile .zlogin "
        ".zlogout .kshrc .envrc apkbuild pkgbuild configure gradlew mvnw",
        aliases="shell shellscript",
    ),
    "batch": Format("code", "bat cmd"),
    "bazel": Format("code", "bzl bazel star", names="build workspace tiltfile", aliases="skylark"),
    "c": Format("code", "c", _BY_GRAMMAR, is_isolated=True),
    "clojure": Format("code", "clj cljs cljc edn"),
    "cmake": Format("code", "cmake", names="cmakelists.txt"),
    "cobol": Format("code", "cob cbl cpy"),
    "coffeescript": Format("code", "coffee"),
    "cpp": Format(
        "code",
        "cpp cc cxx c++ hpp hh hxx h++ ipp tpp inl ino ixx cppm",
        _BY_GRAMMAR,
        is_isolated=True,
        aliases="hpp",
    ),
    "coq": Format("code", "coq"),
    "crystal": Format("code", "cr"),
    "csharp": Format("code", "cs csx", _BY_GRAMMAR, is_isolated=True, aliases="c#"),
    "css": Format("code", "css"),
    "cuda": Format("code", "cu cuh"),
    "cython": Format("code", "pyx pxd pxi"),
    "d": Format("code", "d"),
    "dart": Format("code", "dart"),
    "dockerfile": Format("code", "dockerfile containerfile", names="dockerfile containerfile", aliases="docker"),
    "elisp": Format("code", "el", names=".emacs", aliases="emacs-lisp emacs"),
    "elixir": Format("code", "ex exs", _BY_GRAMMAR, is_isolated=True),
    "elm": Format("code", "elm"),
    "erlang": Format("code", "erl hrl escript", aliases="escript"),
    "fish": Format("code", "fish"),
    "fortran": Format("code", "f f77 f90 f95 f03 f08 for"),
    "fsharp": Format("code", "fs fsi fsx", aliases="f#"),
    "gdscript": Format("code", "gd"),
    "gleam": Format("code", "gleam"),
    "glsl": Format("code", "glsl vert frag comp geom"),
    "go": Format("code", "go", _BY_GRAMMAR, is_isolated=True, aliases="golang"),
    "graphql": Format("code", "graphql gql graphqls"),
    "groovy": Format("code", "groovy gradle gvy", names="jenkinsfile"),
    "haskell": Format("code", "hs lhs", _BY_GRAMMAR, is_isolated=True),
    "haxe": Format("code", "hx"),
    "hcl": Format("code", "hcl tf tfvars nomad", aliases="terraform"),
    "hlsl": Format("code", "hlsl"),
    "idris": Format("code", "idr"),
    "java": Format("code", "java", _BY_GRAMMAR, is_isolated=True),
    "javascript": Format(
        "code",
        "js jsx mjs cjs es6",
        _BY_GRAMMAR,
        is_isolated=True,
        names="jakefile",
        aliases="node nodejs ecmascript bun rhino",
    ),
    "jinja": Format("code", "jinja jinja2 j2"),
    "jsonnet": Format("code", "jsonnet libsonnet"),
    "julia": Format("code", "jl"),
    "kotlin": Format("code", "kt kts", _BY_GRAMMAR, is_isolated=True),
    "lean": Format("code", "lean"),
    "less": Format("code", "less"),
    "lisp": Format("code", "lisp lsp asd", aliases="common-lisp sbcl clisp"),
    "lua": Format("code", "lua luau", _BY_GRAMMAR, is_isolated=True),
    "make": Format("code", "mk mak make", names="makefile gnumakefile bsdmakefile kbuild", aliases="makefile gmake"),
    "matlab": Format("code", "matlab", aliases="m octave"),
    "meson": Format("code", "meson", names="meson.build meson.options meson_options.txt"),
    "metal": Format("code", "metal"),
    "mojo": Format("code", "mojo"),
    "nim": Format("code", "nim nims nimble"),
    "nix": Format("code", "nix"),
    "nushell": Format("code", "nu"),
    "objc": Format("code", "mm", aliases="objective-c objectivec"),
    "ocaml": Format("code", "ml mli mll mly"),
    "odin": Format("code", "odin"),
    "pascal": Format("code", "pas dpr lpr"),
    "perl": Format("code", "pm perl pod psgi raku rakumod", names="cpanfile makefile.pl", aliases="pl cperl"),
    "php": Format("code", "php phtml php3 php4 php5 php7", _BY_GRAMMAR, is_isolated=True, opening=_PHP),
    "postscript": Format("code", "ps"),
    "powershell": Format("code", "ps1 psm1 psd1", _BY_GRAMMAR, is_isolated=True, aliases="pwsh"),
    "prisma": Format("code", "prisma"),
    "prolog": Format("code", "prolog"),
    "protobuf": Format("code", "proto"),
    "puppet": Format("code", "pp"),
    "purescript": Format("code", "purs"),
    "python": Format(
        "code",
        "py pyi pyw",
        _BY_GRAMMAR,
        is_isolated=True,
        names="sconstruct sconscript wscript .pythonrc .pdbrc",
        aliases="pypy ipython",
    ),
    "qml": Format("code", "qml"),
    "r": Format("code", "r rprofile", names=".rprofile", aliases="rscript ess-r"),
    "racket": Format("code", "rkt"),
    "reason": Format("code", "re rei"),
    "rego": Format("code", "rego"),
    "ruby": Format(
        "code",
        "rb rake gemspec ru podspec",
        _BY_GRAMMAR,
        is_isolated=True,
        names="rakefile gemfile vagrantfile guardfile capfile podfile fastfile brewfile dangerfile .irbrc .pryrc",
        aliases="jruby irb",
    ),
    "rust": Format("code", "rs", _BY_GRAMMAR, is_isolated=True),
    "sass": Format("code", "sass"),
    "scala": Format("code", "scala sc sbt", _BY_GRAMMAR, is_isolated=True),
    "scheme": Format("code", "scm ss", aliases="guile"),
    "scss": Format("code", "scss"),
    "smalltalk": Format("code", "st"),
    "solidity": Format("code", "sol"),
    "sql": Format("code", "sql psql mysql ddl plsql"),
    "starlark": Format("code", "starlark"),
    "svelte": Format("code", "svelte"),
    "swift": Format("code", "swift", _BY_GRAMMAR, is_isolated=True),
    "systemverilog": Format("code", "sv svh"),
    "tcl": Format("code", "tcl tk", aliases="tclsh wish expect"),
    "thrift": Format("code", "thrift"),
    "tsx": Format("code", "tsx", _BY_GRAMMAR, is_isolated=True),
    "typescript": Format("code", "mts cts", _BY_GRAMMAR, is_isolated=True, aliases="ts deno ts-node tsx-node"),
    "vala": Format("code", "vala vapi"),
    "vbnet": Format("code", "vb", aliases="visual-basic"),
    "vbscript": Format("code", "vbs bas"),
    "verilog": Format("code", "vh", aliases="v"),
    "vhdl": Format("code", "vhd vhdl"),
    "vim": Format("code", "vim vimrc", names=".vimrc .gvimrc _vimrc .exrc"),
    "vue": Format("code", "vue"),
    "wat": Format("code", "wat wast"),
    "wgsl": Format("code", "wgsl"),
    "zig": Format("code", "zig zon", _BY_GRAMMAR, is_isolated=True),
    "asciidoc": Format("docs", "adoc asciidoc", Decoded(extract_markup)),
    "bibtex": Format("docs", "bib"),
    "email": Format("docs", "eml"),
    "html": Format("docs", "html htm xhtml shtml", Decoded(extract_html), aliases="xhtml", opening=_HTML),
    "latex": Format("docs", "tex ltx sty dtx", Decoded(extract_markup), aliases="plaintex"),
    "man": Format("docs", "man mdoc roff", Decoded(extract_markup), aliases="troff nroff groff", opening=_MAN),
    "markdown": Format("docs", "md markdown mdown mkd mkdn mdx rmd qmd livemd mdc", Decoded(extract_markdown)),
    "mbox": Format("docs", "mbox", aliases="mail"),
    "notebook": Format("docs", "ipynb", Decoded(extract_notebook), aliases="jupyter"),
    "org": Format("docs", "org", Decoded(extract_markup)),
    "pdf": Format("docs", "pdf", extract_pdf, is_isolated=True, sniff=_is_pdf, header=_PDF_HEADER),
    "restructuredtext": Format("docs", "rst rest", Decoded(extract_restructuredtext)),
    "subtitles": Format("docs", "srt vtt sbv"),
    "svg": Format("docs", "svg", Decoded(extract_svg), opening=_SVG),
    "text": Format(
        "docs",
        "txt text",
        names="license licence copying copyright notice readme authors contributors changelog changes news "
        "todo install maintainers codeowners version go.sum gemfile.lock yarn.lock podfile.lock "
        "requirements.txt",
        aliases="plain plaintext",
    ),
    "textile": Format("docs", "textile"),
    "typst": Format("docs", "typ", Decoded(extract_markup)),
    "wiki": Format("docs", "wiki mediawiki", Decoded(extract_markup)),
    "csv": Format("data", "csv", Decoded(extract_rows)),
    "diff": Format("data", "diff patch rej", opening=_DIFF),
    "dotenv": Format("data", "env", names=".env"),
    "gettext": Format("data", "po pot"),
    "gomod": Format("data", "", names="go.mod go.work", aliases="go.mod"),
    "ini": Format(
        "data",
        "ini cfg conf cnf desktop service socket timer mount target editorconfig gitconfig",
        Decoded(extract_tables),
        names=".editorconfig .gitconfig .gitmodules .npmrc .pypirc .flake8 .pylintrc .coveragerc .hgrc .my.cnf "
        "pylintrc",
        aliases="config dosini systemd",
    ),
    "json": Format(
        "data",
        "json jsonc json5 geojson webmanifest har jsonld topojson avsc code-workspace",
        Decoded(extract_json),
        names=".babelrc .jshintrc .bowerrc pipfile.lock composer.lock flake.lock bun.lock .swcrc .eslintrc "
        ".prettierrc .stylelintrc",
        opening=_JSON,
    ),
    "jsonl": Format("data", "jsonl ndjson"),
    "log": Format("data", "log"),
    "properties": Format("data", "properties"),
    "toml": Format("data", "toml", Decoded(extract_tables), names="cargo.lock poetry.lock uv.lock pdm.lock pipfile"),
    "tsv": Format("data", "tsv tab", Decoded(extract_rows)),
    "xml": Format(
        "data",
        "xml xsd xsl xslt rss atom plist csproj fsproj vbproj vcxproj props targets resx xaml wsdl pom "
        "kml gpx storyboard xib iml xlf xliff opml dtd nuspec tmx ui",
        opening=_XML,
    ),
    "yaml": Format(
        "data",
        "yaml yml clang-format clang-tidy cff",
        Decoded(extract_yaml),
        names=".clang-format .clang-tidy .clangd .yamllint .ansible-lint",
    ),
}
