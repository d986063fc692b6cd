"""Recognition of the kind of a file, by its name and its first kilobytes.

A name is checked before the content, as it states the author's intent; content decides where names are ambiguous or
unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from directory_indexer.core.paths import FilePath
from directory_indexer.formats.format import AddedFormat, Format
from directory_indexer.formats.kinds import kind_for_alias
from directory_indexer.formats.table import FORMATS

PLAIN: Final = "text"


def kind_of(path: FilePath, content: bytes) -> str:
    """Return the kind of a file by its name and its first kilobytes; "text" if nothing more precise is known."""
    name, head = _lower_name(path), content[:_HEAD_BYTES]
    if kind := _binary_kind(name, head):
        return kind
    # UTF-16 differs from ASCII by NULs, which no rule below needs.
    ascii_head = head.replace(b"\0", b"") if b"\0" in head else head
    return _kind_by_name(name, ascii_head) or _kind_by_content(ascii_head.lstrip(_BYTE_ORDER_MARKS)) or PLAIN


def format_of(path: FilePath, content: bytes, added: Sequence[AddedFormat] = ()) -> tuple[str, Format]:
    """Return the kind of a file and its format, which may be one that the configuration adds."""
    if added_format := _added_format(path, added):
        return added_format.kind, added_format.format
    kind = kind_of(path, content)
    return kind, FORMATS[kind]


def expected_format(path: FilePath, added: Sequence[AddedFormat] = ()) -> Format:
    """Return the format of a file by its name alone, before it is read."""
    added_format = _added_format(path, added)
    return added_format.format if added_format else FORMATS[expected_kind(path)]


def _added_format(path: FilePath, added: Sequence[AddedFormat]) -> AddedFormat | None:
    name = _lower_name(path) if added else ""
    return next((added_format for added_format in added if added_format.has(name)), None)


def expected_kind(path: FilePath) -> str:
    """Return the kind of a file by its name alone, before it is read."""
    name = _lower_name(path)
    named = (kind for kind, suffixes, names, *_ in _BINARY if name.endswith(suffixes) or name in names)
    return (next(named) if _is_named_as_binary(name) else _kind_by_name(name, b"")) or PLAIN


def _lower_name(path: FilePath) -> str:
    return path[max(path.rfind("/"), path.rfind("\\")) + 1 :].lower()


def _is_named_as_binary(name: str) -> bool:
    return name.endswith(_BINARY_SUFFIXES) or name in _BINARY_NAMES


def _binary_kind(name: str, head: bytes) -> str | None:
    # Most files are of none of fifty formats; comparing with each of them takes 20 µs.
    if not (_is_named_as_binary(name) or any(head.startswith(headers, at) for at, headers in _BINARY_HEADERS.items())):
        return None
    for kind, suffixes, names, header, header_at, sniff in _BINARY:
        has_extension = name.endswith(suffixes) or name in names
        if (has_extension or head.startswith(header, header_at)) and sniff(head, has_extension):
            return kind
    return None


def _kind_by_name(name: str, head: bytes) -> str | None:
    return _kind_by_bare_name(_without_inert_suffixes(name), head) or _kind_by_bare_name(name, head)


def _kind_by_bare_name(name: str, head: bytes) -> str | None:
    if kind := _KINDS_BY_NAME.get(name):
        return kind
    stem, _, suffix = name.rpartition(".")
    if not stem:
        return None
    if rule := _SHARED_SUFFIXES.get(suffix):
        return rule(head)
    return _KINDS_BY_SUFFIX.get(suffix) or _KINDS_BY_FIRST_NAME.get(name.partition(".")[0])


def _without_inert_suffixes(name: str) -> str:
    name = name.rstrip("~")
    while True:
        stem, _, suffix = name.rpartition(".")
        if not stem or suffix not in _INERT_SUFFIXES:
            return name
        name = stem


def _kind_by_content(head: bytes) -> str | None:
    if head.startswith(b"#!"):
        return _kind_by_shebang(head)
    if mode := re.search(_EMACS_MODE, head[:1024]) or re.search(_VIM_FILETYPE, head[:1024]):
        return _text_kind(mode[1].decode("ascii"))
    return next((kind for kind, pattern in _OPENINGS if re.match(pattern, head)), None)


def _kind_by_shebang(head: bytes) -> str | None:
    words = head[2:].split(b"\n", 1)[0].decode("latin-1").split()
    programs = [word.rpartition("/")[2] for word in words if not word.startswith("-") and "=" not in word]
    if programs and programs[0] == "env":
        programs = programs[1:]
    return _text_kind(programs[0].rstrip("0123456789.-")) if programs else None


def _text_kind(alias: str) -> str | None:
    """Return the kind that a word in a text names; None if it is that of a binary format."""
    kind = kind_for_alias(alias)
    return kind if kind and FORMATS[kind].is_text else None


def _kind_of_h(head: bytes) -> str:
    if re.search(_OBJC, head):
        return "objc"
    return "cpp" if _may_be_cpp(head) and re.search(_CPP, head) else "c"


def _may_be_cpp(head: bytes) -> bool:
    # Most headers have none of the words, and the pattern takes four times as long to find that out.
    return any(word in head for word in _CPP_WORDS) or re.search(_BARE_INCLUDE, head) is not None


def _kind_of_m(head: bytes) -> str:
    return "objc" if re.search(_OBJC, head) or head.lstrip().startswith((b"//", b"/*")) else "matlab"


def _kind_of_ts(head: bytes) -> str:
    # Qt Linguist keeps translations in XML files with this suffix.
    return "xml" if head.lstrip().startswith((b"<?xml", b"<!DOCTYPE TS")) else "typescript"


def _kind_of_pl(head: bytes) -> str:
    return "prolog" if re.search(rb"^:-\s|^\w+\(.*\)\s*:-", head, re.MULTILINE) else "perl"


def _kind_of_v(head: bytes) -> str:
    return (
        "coq" if re.search(rb"^(?:Require|From|Theorem|Lemma|Inductive|Section)\b", head, re.MULTILINE) else "verilog"
    )


def _kind_of_html(head: bytes) -> str:
    """Return the kind of a page: a template counts as code, so that its tags and scripts are read, too."""
    before_examples = re.split(rb"(?i)<(?:pre|code|samp)\b", head, maxsplit=1)[0]
    return "jinja" if re.search(_TEMPLATE, before_examples) else "html"


_HEAD_BYTES: Final = 8_192
_BYTE_ORDER_MARKS: Final = b"\xef\xbb\xbf\xfe\xff"
# Compiled on first use: all of them take 2 ms.
_OBJC: Final = rb"(?m)^[^\S\n]*(?:#import\b|@(?:interface|implementation|protocol|import|class)\b)"
_CPP: Final = (
    rb"(?m)^[^\S\n]*(?:class|namespace|template|using|constexpr|public:|private:|protected:)\b|\bstd::"
    rb"|^[^\S\n]*#\s*include\s*<[a-z_]+>|\bextern \"C\+\+\""
)
_CPP_WORDS: Final = (
    *(b"class", b"namespace", b"template", b"using", b"constexpr", b"public:", b"private:", b"protected:"),
    *(b"std::", b'extern "C++"'),
)
_BARE_INCLUDE: Final = rb"include\s*<[a-z_]+>"
_TEMPLATE: Final = (
    rb"\{%[-+]?[ \t]*(?:autoescape|block|call|extends|filter|for|from|if|import|include|load|macro|raw|set|static|"
    rb"trans|url|with)\b|\{\{[-~]?[ \t]*(?:[#/>.$]|(?:define|block|range|if|with|partial|template)[ \t]"
    rb"|\w+[\w.]*[ \t]*[-~|}(\[])"
    rb"|<%[-=@#!]|<%[ \t\n]|<\?(?:php\b|=)|\A\s*(?:<!--[^>]*-->\s*)*<(?:script|style)\b"
)
"""The tags of Jinja, Django, Twig, Liquid, Handlebars, Go, ERB, JSP and PHP; or a part of a page that is a script."""

_EMACS_MODE: Final = rb"-\*-\s*(?:.*?\bmode:\s*)?([\w+#-]+)\s*(?:;[^\n]*)?-\*-"
_VIM_FILETYPE: Final = rb"vim?:[^\n]{0,200}?\b(?:ft|filetype|syntax)=(\w+)"

_INERT_SUFFIXES: Final = frozenset(
    "bak backup orig old save saved example sample template tmpl tpl dist default in j2 jinja jinja2 erb mustache "
    "local disabled rej new tmp txt".split()
)
"""Suffixes that people append without changing the kind of a file: `nginx.conf.example`, `setup.py.orig`."""

_SHARED_SUFFIXES: Final[dict[str, Callable[[bytes], str]]] = {
    "h": _kind_of_h,
    "m": _kind_of_m,
    "ts": _kind_of_ts,
    "pl": _kind_of_pl,
    "v": _kind_of_v,
    "html": _kind_of_html,
    "htm": _kind_of_html,
}


def _kinds_by_word(words_of: Callable[[Format], str]) -> dict[str, str]:
    return {word: kind for kind, format_ in FORMATS.items() for word in words_of(format_).split()}


_BINARY: Final = tuple(
    (
        kind,
        tuple(f".{suffix}" for suffix in format_.suffixes.split()),
        frozenset(format_.names.split()),
        format_.header,
        format_.header_at,
        format_.sniff,
    )
    for kind, format_ in FORMATS.items()
    if format_.sniff
)
_BINARY_SUFFIXES: Final = tuple(suffix for _, suffixes, *_ in _BINARY for suffix in suffixes)
_BINARY_NAMES: Final = frozenset().union(*(names for _, _, names, *_ in _BINARY))
_BINARY_HEADERS: Final = {
    at: tuple(
        header
        for *_, headers, header_at, _ in _BINARY
        if header_at == at
        for header in (headers if isinstance(headers, tuple) else (headers,))
    )
    for at in {header_at for *_, header_at, _ in _BINARY}
}
"""The headers of all of them, by where they begin."""

_OPENINGS: Final = tuple((kind, format_.opening) for kind, format_ in FORMATS.items() if format_.opening)
_KINDS_BY_NAME: Final = _kinds_by_word(lambda format_: "" if format_.sniff else format_.names)
_KINDS_BY_FIRST_NAME: Final = {name: _KINDS_BY_NAME[name] for name in ("containerfile", "dockerfile", "makefile")}
_KINDS_BY_SUFFIX: Final = _kinds_by_word(lambda format_: "" if format_.sniff else format_.suffixes)
