"""Definitions in a source text, parsed line by line: where each begins and ends, and what encloses a line.

Nothing is parsed. Comments and strings are blanked out, a definition is a line of a certain form, and it ends before
the next line that is indented no further. So the time for a hostile text is linear in its size.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple

CALLABLE: Final = frozenset({"function", "method"})
"""The kinds of definitions that have variables of their own."""


class Definition(NamedTuple):
    """A named thing of a source text: its lines from 1, both inclusive, and the names that it stands in."""

    name: str
    kind: str
    start_line: int
    end_line: int
    container: str = ""

    @property
    def qualified(self) -> str:
        """The name with those that it stands in."""
        return f"{self.container}.{self.name}" if self.container else self.name


class SourceText:
    """A source text with its definitions; `code` is as long as `text`, with blanks for comments and strings."""

    def __init__(self, text: str, kind: str) -> None:
        self.text = text
        self.kind = kind

    @cached_property
    def code(self) -> str:
        """The text without comments and strings; what is interpolated into a string stays."""
        return _comments_and_strings_of(self.kind).sub(_blank_match, self.text)

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """All definitions in their order, each after the one that it stands in."""
        return tuple(self._read_definitions())

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))][:-1]

    def line_at(self, character: int) -> int:
        """Return the number of the line that a character stands in."""
        return bisect_right(self._line_starts, character)

    def line_start(self, line: int) -> int:
        """Return the character at which a line begins."""
        return self._line_starts[min(line, len(self._line_starts)) - 1]

    def line(self, line: int) -> str:
        """Return a line without its end."""
        start = self.line_start(line)
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else None]

    def is_code(self, start: int, name: str) -> bool:
        """Whether a name that begins at a character is code, and not part of a variable with a sign before it."""
        code, end = self.code, start + len(name)
        return code.startswith(name, start) and code[start - 1 : start] != "$" and code[end : end + 1] != "$"

    def enclosing(self, line: int) -> Definition | None:
        """Return the innermost definition that a line stands in, its own first line included."""
        at = bisect_right(self._first_lines, line) - 1
        while at >= 0 and self.definitions[at].end_line < line:
            at = self._enclosing_indexes[at]
        return self.definitions[at] if at >= 0 else None

    def signature(self, line: int) -> str:
        """Return the first line of a definition, and where its parameters go on, those that follow."""
        start = self.line_start(line)
        lines = self.text[start : start + _MAX_SIGNATURE_CHARS].split("\n")
        signature = lines[0]
        for following in lines[1:_MAX_SIGNATURE_LINES]:
            if signature.count("(") <= signature.count(")"):
                break
            signature = f"{signature.rstrip()} {following.strip()}"
        return " ".join(signature.split()).replace("( ", "(").replace(", )", ")").rstrip("{ ")[:_MAX_SIGNATURE_CHARS]

    def enclosing_definitions(self, definition: Definition) -> Iterator[Definition]:
        """Yield a definition and all that it stands in, the innermost first."""
        at = self._index_by_definition[definition]
        while at >= 0:
            yield self.definitions[at]
            at = self._enclosing_indexes[at]

    @cached_property
    def _index_by_definition(self) -> dict[Definition, int]:
        return {definition: at for at, definition in enumerate(self.definitions)}

    @cached_property
    def _enclosing_indexes(self) -> list[int]:
        """The index of the container of each definition; -1 for none."""
        above: list[int] = []
        for at, definition in enumerate(self.definitions):
            outer = at - 1
            while outer >= 0 and self.definitions[outer].end_line < definition.start_line:
                outer = above[outer]
            above.append(outer)
        return above

    @cached_property
    def _first_lines(self) -> list[int]:
        return [definition.start_line for definition in self.definitions]

    def _read_definitions(self) -> Iterator[Definition]:
        stack: list[Definition] = []
        header = _header_of(self.kind)
        owners = tuple(_OWNERS & header.groupindex.keys())
        has_keyword = "keyword" in header.groupindex
        for match in header.finditer(self.code):
            name = match.lastgroup or 0
            start = self.line_at(match.start(name))
            while stack and stack[-1].end_line < start:
                stack.pop()
            if len(stack) > _MAX_DEPTH or len(match[name]) > _MAX_NAME_CHARS:
                continue
            keyword = (match["keyword"] if has_keyword else "") or "function"
            owner = "" if stack else next((match[group] for group in owners if match[group]), "")
            owner = "" if owner in _MODULE_ITSELF else owner
            container = stack[-1].qualified if stack else owner
            kind = _KINDS.get(keyword, keyword)
            if keyword in _FUNCTIONS:
                kind = "method" if owner or (stack and stack[-1].kind not in CALLABLE) else "function"
            definition = Definition(match[name], kind, start, self._last_line_of(match), container)
            stack.append(definition)
            yield definition

    def _last_line_of(self, match: re.Match[str]) -> int:
        """Return the last line of a definition: brackets and ends on its own indentation belong to it."""
        code = self.code
        indent = len(match["indent"].expandtabs(4))
        line_end = code.find("\n", match.end())
        if line_end < 0:
            return len(self._line_starts)
        dedent = _dedent(indent, indent // 4).search(code, line_end)
        body = code[line_end : dedent.start() if dedent else None]
        return self.line_at(line_end + max(len(body.rstrip()) - 1, -1))


def _blank_match(match: re.Match[str]) -> str:
    text = match[0]
    if "{" in text and _INTERPOLATED.search(match.string, max(match.start() - 2, 0), match.start() + 1):
        return _OUTSIDE_BRACES.sub(_blanks_like, text)
    if "${" in text or "#{" in text:
        return _OUTSIDE_BRACES.sub(_blanks_like, text)
    return _blank_text(text)


def _blanks_like(match: re.Match[str]) -> str:
    return match[0] if match["inside"] else _blank_text(match[0])


def _blank_text(text: str) -> str:
    if "\n" not in text:
        return " " * len(text)
    return "\n".join(" " * len(line) for line in text.split("\n"))


_dedents: dict[tuple[int, int], re.Pattern[str]] = {}


def _dedent(indent: int, tabs: int) -> re.Pattern[str]:
    """Return the pattern of a line that is indented by at most `indent` blanks or `tabs` tabs."""
    key = (indent, tabs)
    if key not in _dedents:
        _dedents[key] = re.compile(
            rf"\n(?: {{0,{indent}}}+|\t{{0,{tabs}}}+)(?![\s)\]}}{{#]|(?:end|where|begin)\b|\w+:\s*\n)"
        )
    return _dedents[key]


def _comments_and_strings_of(kind: str) -> re.Pattern[str]:
    return _COMMENTS_AND_STRINGS.get(kind, _SLASHES)


def _header_of(kind: str) -> re.Pattern[str]:
    return _HEADERS.get(kind, _ANY_HEADER)


_QUOTED: Final = r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"""|\\?\Z)|"(?:[^"\\\n]|\\.)*+"?'
_SINGLE: Final = r"'''(?:[^'\\]|\\.|'(?!''))*+(?:'''|\\?\Z)|'(?:[^'\\\n]|\\.)*+'?"
_CHARACTER: Final = r"'(?:\\[^\n']{1,10}|[^'\\\n])'"
_TICKS: Final = r"`(?:[^`\\]|\\.)*+`?"
_HASH: Final = r"\#(?<![^\s;(\[{,]\#)[^\n]*"
_SLASH: Final = r"//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)"


def _compiled(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.DOTALL)


_SLASHES: Final = _compiled(_QUOTED, _CHARACTER, _SLASH)
_SCRIPT: Final = _compiled(_QUOTED, _SINGLE, _TICKS, _SLASH)
_HASHES: Final = _compiled(_QUOTED, _SINGLE, _HASH)
_DASHES: Final = _compiled(_QUOTED, _SINGLE, r"--\[\[.*?(?:\]\]|\Z)|--[^\n]*", r"\{-.*?(?:-\}|\Z)")
_COMMENTS_AND_STRINGS: Final = {
    **dict.fromkeys(("python", "ruby", "bash", "elixir", "powershell", "perl", "r", "julia", "nim"), _HASHES),
    **dict.fromkeys(("javascript", "typescript", "tsx", "vue", "svelte", "dart", "groovy"), _SCRIPT),
    **dict.fromkeys(("lua", "sql", "ada"), _DASHES),
    "haskell": _compiled(_QUOTED, _CHARACTER, r"--[^\n]*", r"\{-.*?(?:-\}|\Z)"),
    "go": _compiled(_QUOTED, _CHARACTER, _TICKS, _SLASH),
    "php": _compiled(_QUOTED, _SINGLE, _SLASH, _HASH),
}
_INTERPOLATED: Final = re.compile(r"(?<!\w)[fFrRbBtT$]{0,2}[fFtT$][rR@]?[\"']")
_OUTSIDE_BRACES: Final = re.compile(r"(?P<inside>\{[^{}\"'\n]*\})|[^{]+|\{")

_INDENT: Final = r"^(?P<indent>[ \t]*+)"
_OWNER: Final = r"(?P<owner>(?!))?"
_MODIFIERS: Final = (
    r"(?:(?:export|default|declare|abstract|public|private|protected|internal|static|final|async|open|sealed|data|inline"
    r"|override|virtual|partial|unsafe|const|extern|pub(?:\([^)\n]*\))?|suspend|case|implicit|lazy|inner|value|annotation"
    r"|fileprivate|mutating|indirect|companion|readonly|tailrec|operator|infix|local|template|friend|typedef|crate"
    r"|@\w+(?:\([^()\n]*\))?|\"[^\"\n]*\")[ \t]+)*+"
)
_TYPES: Final = "class|struct|enum|union|trait|interface|protocol|record|object|module|namespace|mixin|extension|actor"
_NO_TYPE: Final = (
    "return|throw|await|yield|new|else|delete|goto|case|in|not|and|or|if|while|for|foreach|switch|catch|match|when|with"
    "|raise|assert|import|from|use|using|do|try|elif|elsif|unless|until|print|echo|typeof|sizeof|super|this|self"
)
_TYPE_FORM: Final = (
    rf"(?P<keyword>{_TYPES})[ \t]+(?:[A-Z_]+[ \t]+(?=\w+[ \t]*[:{{]))?(?P<name>[\w$]+)(?=[^;\n]*+(?:\n|\Z))"
)
_PYTHON: Final = re.compile(
    rf"{_INDENT}(?:async[ \t]+)?(?P<keyword>def|class)[ \t]+{_OWNER}(?P<name>\w+)", re.MULTILINE
)
_RUBY: Final = re.compile(
    rf"{_INDENT}(?:(?:private|public|protected|private_class_method)[ \t]+)?(?P<keyword>def|class|module)[ \t]+{_OWNER}"
    r"(?:self\.|\w+::)*(?P<name>[A-Za-z_]\w*[?!=]?)",
    re.MULTILINE,
)
_ELIXIR: Final = re.compile(
    rf"{_INDENT}(?P<keyword>defmodule|defprotocol|defimpl|defp?|defmacrop?|defguardp?|defdelegate)[ \t]+{_OWNER}"
    r"(?:[A-Z]\w*\.)*(?P<name>[A-Za-z_]\w*[?!]?)",
    re.MULTILINE,
)
_GO: Final = re.compile(
    rf"{_INDENT}(?:(?P<keyword>func)[ \t]+(?:\([ \t]*(?:\w+[ \t]+)?\*?(?P<owner>\w++)[^)\n]*\)[ \t]*)?(?P<name>\w+)"
    r"|(?:type[ \t]+)?(?P<bound>\w+)(?:\[[^\]\n]*\])?[ \t]+(?:struct|interface)[ \t]*\{)",
    re.MULTILINE,
)
_RUST: Final = re.compile(
    rf"{_INDENT}{_MODIFIERS}(?:(?P<keyword>fn|struct|enum|union|trait|mod|macro_rules!|type)[ \t]+{_OWNER}(?P<name>\w+)"
    r"|impl\b(?:<[^\n{]{0,200}?>)?[ \t]++(?:[^\n{]{0,200}?\bfor[ \t]++)?&?(?:\w++::)*+(?P<bound>\w++)"
    r"(?:<[^\n]*+(?:\n|\Z)|[ \t]*+(?:\{|where|\n)))",
    re.MULTILINE,
)
_C_FAMILY: Final = re.compile(
    rf"{_INDENT}(?:{_MODIFIERS}{_TYPE_FORM}"
    rf"|(?!(?:{_NO_TYPE})\b)[\w@~][\w:<>,*&.\[\]?~@ \t]*?[ \t*&]{_OWNER}(?:(?P<typed_owner>\w+)(?:<[^<>\n]*>)?::)?"
    r"(?P<typed>(?:operator[^\s\w(]+|~?[\w$]+))[ \t]*(?:<[^<>\n]*>)?\((?!\*)[^;\n]{0,400}(?:\{[^\n]*)?$"
    r"|(?P<method>(?!(?:" + _NO_TYPE + r")\b)~?[\w$]+)[ \t]*\([^;\n]{0,300}\)[^;\n]{0,100}\{[ \t]*$)",
    re.MULTILINE,
)
_JAVA: Final = re.compile(
    _C_FAMILY.pattern.replace(r"[^;\n]{0,400}(?:\{[^\n]*)?$", r"[^;\n]{0,400}(?:[{;][^\n]*)?$", 1), re.MULTILINE
)
"""In an interface, methods end with a semicolon."""

_FUNCTION_WORDS: Final = "function|func|fun|fn|def|sub|proc|procedure|defn|macro"
_ANY_HEADER: Final = re.compile(
    rf"{_INDENT}{_MODIFIERS}(?:{_TYPE_FORM}"
    rf"|(?P<function>{_FUNCTION_WORDS})\b[ \t*]*(?:<[^<>\n]*>[ \t]*)?{_OWNER}(?:(?:[\w$]+(?:<[^<>\n]*>)?[.:])+)?"
    r"(?P<typed>[\w$?!]+)"
    r"|(?:(?:const|let|var|val)[ \t]+)?(?:(?P<bound_owner>[\w$]+)\.(?:prototype\.)?)?(?:[\w$]+\.)*"
    r"(?P<bound>[\w$]+)[ \t]*(?::[^=\n]{1,200})?[:=][ \t]*"
    r"(?:async[ \t]*)?(?:function\b|class\b|\([^()\n]*\)[^=\n]{0,100}=>|[\w$]+[ \t]*=>|\((?=[ \t]*\n)|\([^()\n]*$)"
    r"|(?:(?:get|set|static|async)[ \t]+|\*[ \t]*)*(?P<method>\#?(?!(?:" + _NO_TYPE + r"|function)\b)[\w$]+)[ \t]*"
    r"(?:<[^<>\n]*>)?\([^;\n]{0,300}\)[^;\n=]{0,100}\{(?:[ \t]*$|[^\n]{1,300}\}[ \t;,]*$))",
    re.MULTILINE,
)
_HASKELL: Final = re.compile(
    rf"{_INDENT}(?:(?P<keyword>data|newtype|class|type)[ \t]+{_OWNER}(?P<name>[A-Z]\w*)"
    r"|(?P<bound>[a-z_][\w']*)[ \t]*::)",
    re.MULTILINE,
)
_HEADERS: Final = {
    "python": _PYTHON,
    "ruby": _RUBY,
    "elixir": _ELIXIR,
    "go": _GO,
    "rust": _RUST,
    "haskell": _HASKELL,
    **dict.fromkeys(("c", "cpp", "objc", "cuda", "glsl"), _C_FAMILY),
    **dict.fromkeys(("csharp", "java"), _JAVA),
}
_OWNERS: Final = frozenset({"owner", "typed_owner", "bound_owner"})
_MODULE_ITSELF: Final = frozenset({"exports", "module"})
_FUNCTIONS: Final = frozenset((*_FUNCTION_WORDS.split("|"), "defp", "defmacro", "defmacrop", "defguard", "defguardp"))
_KINDS: Final = {"mod": "module", "defmodule": "module", "defprotocol": "protocol", "macro_rules!": "macro"}
_MAX_DEPTH: Final = 12
_MAX_NAME_CHARS: Final = 256
_MAX_SIGNATURE_CHARS: Final = 240
_MAX_SIGNATURE_LINES: Final = 12
