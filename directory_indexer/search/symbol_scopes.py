"""The owner of a name at a place, where several things have it: judged by receivers, imports and local variables.

It is a judgement by form, as a person reads code who has only this file open. What stays open is said in words.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from directory_indexer.core.paths import FilePath, exact_text
from directory_indexer.search.symbol_source import CALLABLE, Definition, SourceText


class DefinedAt(NamedTuple):
    """A definition and its file."""

    path: FilePath
    definition: Definition


def _is_in(at: DefinedAt, container: str) -> bool:
    """Whether a definition stands in something of this name: a class, a function, or the module that its file is."""
    *folders, file = exact_text(at.path).split(os.sep)
    stem = file.partition(".")[0]
    module = folders[-1] if stem in ("__init__", "index", "mod") and folders else stem
    return f".{module}.{at.definition.container}".rstrip(".").endswith(f".{container}")


def _encloses(at: DefinedAt, place: Place) -> bool:
    """Whether a function is defined in another function, and a place lies in that, too."""
    if at.path != place.path or not at.definition.container or place.enclosing is None:
        return False
    around = place.source.around(place.enclosing)
    return any(outer.qualified == at.definition.container and outer.kind in CALLABLE for outer in around)


class Place(NamedTuple):
    """A place of a name in a text, and the definition around it."""

    path: FilePath
    source: SourceText
    start: int
    enclosing: Definition | None


class NameScope:
    """A name with all its definitions, of which those in `container` are requested."""

    def __init__(self, name: str, container: str, defined: Sequence[DefinedAt]) -> None:
        self.name = name
        self.defined = defined
        self.requested = [at for at in defined if not container or _is_in(at, container)]
        self.pattern = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
        self._owners = {at.definition.container.rpartition(".")[2] for at in self.requested if at.definition.container}
        self._others = {
            at.definition.container.rpartition(".")[2]
            for at in defined
            if at not in self.requested and at.definition.container
        }
        self._at_top = [at for at in self.requested if not at.definition.container]
        self._files: dict[FilePath, _File] = {}

    def judge(self, place: Place) -> tuple[str, str]:
        """Return how a name is used at a place, and why it may be another one; empty where nothing speaks for that."""
        line = _line_around(place)
        how = self._how(place, line)
        if not self.requested:
            return how, "its definition is not indexed"
        if how == "import":
            return how, self._doubt_of_import(place)
        if receiver := _receiver(line.before, place.source.kind):
            return how, self._doubt_of_attribute(place, receiver)
        if place.source.kind == "python" and _ARGUMENT.search(line.before) and _SETS.match(line.behind):
            return "set", _KEYWORD
        return how, self._doubt_of_name(place, how)

    def _how(self, place: Place, line: _Line) -> str:
        if self._file(place).module_at(place.start) is not None:
            return "import"
        if _CLASS_HEADER.match(line.before):
            return "base"
        if _CALLED.match(line.behind):
            return "call"
        return "set" if _SETS.match(line.behind) else "use"

    def _doubt_of_import(self, place: Place) -> str:
        if not self._at_top:
            return _OTHER
        module = self._file(place).module_at(place.start)
        return "" if not module or self._is_from(module, place) else _OTHER_MODULE

    def _doubt_of_attribute(self, place: Place, receiver: str) -> str:
        if receiver in ("self", "cls", "this", "super()", "@"):
            return self._doubt_of_own(place)
        if receiver in self._owners:
            return ""
        module = self._file(place).names.get(receiver)
        if module is not None and self._at_top:
            is_from = self._is_from(module, place) or self._is_from(f"{module}.{receiver}", place)
            return "" if is_from else _OTHER_MODULE
        if not self._owners:
            return "" if place.source.kind in _NAMESPACED and not self._others else _OTHER
        return self._doubt_of_method(place, receiver, module)

    def _doubt_of_method(self, place: Place, receiver: str, module: str | None) -> str:
        """Return the doubt of a method: by the type of the receiver, else by the number of methods with that name."""
        if (kind := _type_of(place, receiver)) is not None:
            return self._doubt_of_type(kind, place)
        if receiver in self._others or (module is not None and not self._is_from(module, place)):
            return _OTHER
        if self._others:
            return f"{len(self._others)} other{'s have' if len(self._others) > 1 else ' has'} this name"
        return _COMMON_NAME if self.name in _COMMON else ""

    def _doubt_of_own(self, place: Place) -> str:
        around = place.source.around(place.enclosing) if place.enclosing else ()
        own = next((outer for outer in around if outer.kind not in CALLABLE), None)
        if own is None:
            return _OTHER if self._others else ""
        return self._doubt_of_type(own.name, place)

    def _doubt_of_type(self, name: str, place: Place) -> str:
        if name in self._owners:
            return ""
        if name in self._others:
            return _OTHER
        bases = self._file(place).bases_of(name)
        if bases & self._owners or (bases and not self._others):
            return ""
        return _OTHER if self._others or name in _BUILTIN_TYPES else ""

    def _doubt_of_name(self, place: Place, how: str) -> str:
        if any(_encloses(at, place) for at in self.requested):
            return ""
        if not self._at_top:
            return self._doubt_of_bare_method(place, how)
        if place.enclosing and self._file(place).is_local(self.name, place.enclosing):
            return _LOCAL
        if any(at.path == place.path for at in self._at_top):
            return ""
        if any(at.path == place.path and not at.definition.container for at in self.defined):
            return _OTHER
        return self._doubt_of_imported(place)

    def _doubt_of_imported(self, place: Place) -> str:
        file = self._file(place)
        if self.name in file.names:
            return "" if self._is_from(file.names[self.name], place) else _OTHER_MODULE
        if not file.has_star and place.source.kind in _IMPORTING:
            return _NOT_IMPORTED
        directory = os.path.dirname(place.path)
        is_near = any(os.path.dirname(at.path) == directory for at in self._at_top)
        return "" if is_near or len({at.path for at in self.defined}) == 1 else _OTHER

    def _doubt_of_bare_method(self, place: Place, how: str) -> str:
        if place.source.kind not in _EXPLICIT or how == "base":
            return self._doubt_of_own(place)
        around = place.enclosing
        return "" if around and around.kind not in CALLABLE and around.name in self._owners else _OTHER

    def _is_from(self, module: str, place: Place) -> bool:
        """Whether a module can have one of the definitions: its own file, or a package that it lies in."""
        parts = [part for part in _PARTS.split(module.strip("'\"")) if part and part not in _RELATIVE]
        if not parts:  # `from . import`
            directory = os.path.dirname(place.path)
            return any(os.path.dirname(at.path) == directory for at in self.requested)
        for at in self.requested:
            *folders, file = exact_text(at.path).split(os.sep)
            if {parts[0], parts[-1]} & {*folders, file.partition(".")[0]}:
                return True
        return False

    def _file(self, place: Place) -> _File:
        if place.path not in self._files:
            self._files[place.path] = _File(place.source)
        return self._files[place.path]


class _Line(NamedTuple):
    """The text of a line before and behind a name."""

    before: str
    behind: str


def _line_around(place: Place) -> _Line:
    code = place.source.code
    name_end = _WORD_END.search(code, place.start)
    end = name_end.start() if name_end else len(code)
    first = code.rfind("\n", 0, place.start) + 1
    before = code[max(first, place.start - _LONGEST) : place.start]
    if not before.strip() and first:
        # A chain of calls, or arguments, one a line.
        previous = code[code.rfind("\n", 0, first - 1) + 1 : first - 1].rstrip()
        before = previous[-_LONGEST:] if previous.endswith((".", "(", ",")) else before
    return _Line(before, code[end : end + _LONGEST])


def _receiver(before: str, kind: str) -> str:
    """Return the receiver that a name is an attribute of; `?` for a receiver without a name."""
    if kind == "python" and before.endswith(("->", "-> ")):
        return ""
    if not _ATTRIBUTE.search(before):
        return "@" if _INSTANCE.search(before) else ""
    match = _RECEIVER.search(before)
    return match[1] if match and match[1] else "?"


def _type_of(place: Place, receiver: str) -> str | None:
    """Return the class that a variable was last made with or declared as, as far as the text before says so."""
    if not receiver.isidentifier():
        return None
    code, at = place.source.code, place.start
    for _ in range(_MOST_LOOKED_AT):
        at = code.rfind(receiver, 0, at)
        if at < 0:
            return None
        end = at + len(receiver)
        if code[at - 1 : at].isidentifier() or code[end : end + 1].isidentifier():
            continue
        match = _MADE.match(code, end) or _DECLARED.search(code[max(at - _LONGEST, code.rfind("\n", 0, at) + 1) : at])
        if match:
            return match[1] or match[2]
    return None


class _File:
    """The imports, the bases of classes and the local names of a file."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._bases: dict[str, frozenset[str]] = {}
        self._local: dict[tuple[str, int], bool] = {}

    @cached_property
    def names(self) -> dict[str, str]:
        """The module of each name that is imported."""
        return dict(self._named())

    @cached_property
    def has_star(self) -> bool:
        """Whether all names of a module are imported."""
        return any("*" in statement[0] for statement in self._statements)

    def module_at(self, start: int) -> str | None:
        """Return the module that is imported from at a place, empty where it has no name; None outside of imports."""
        at = bisect_right(self._starts, start) - 1
        if at < 0 or start >= self._statements[at].end():
            return None
        return self._module_of(self._statements[at]) or ""

    def bases_of(self, name: str) -> frozenset[str]:
        """Return the names that a class builds on, those of its bases in this file included."""
        if name not in self._bases:
            self._bases[name] = frozenset(self._read_bases(name))
        return self._bases[name]

    def is_local(self, name: str, enclosing: Definition) -> bool:
        """Whether a function of Python, or one around it, binds a name itself: as a parameter, or by an assignment."""
        for around in self._source.around(enclosing):
            if around.kind not in CALLABLE or self._source.kind != "python":
                return False
            key = (name, around.start_line)
            if key not in self._local:
                self._local[key] = self._binds(name, around)
            if self._local[key]:
                return True
        return False

    def _binds(self, name: str, function: Definition) -> bool:
        first = self._source.line_start(function.start_line)
        last = self._source.line_start(function.end_line + 1)
        code = self._source.code[first : last if last > first else None]
        body = code.partition("(")[2]
        parameters = _PARAMETERS.match(body)
        name = re.escape(name)
        if parameters and re.search(rf"(?:^|[,*])\s*{name}\s*(?:[:,=]|\Z)", _without_brackets(parameters[0])):
            return True
        is_bound = re.search(_BINDS.replace("NAME", name), body, re.MULTILINE)
        return bool(is_bound) and not re.search(rf"\b(?:global|nonlocal)\b[^\n]*\b{name}\b", code)

    def _read_bases(self, name: str) -> set[str]:
        seen: set[str] = set()
        ahead = [name]
        while ahead and len(seen) < _MOST_BASES:
            current = ahead.pop()
            header = rf"\b(?:class|struct|interface|trait)[ \t]+{re.escape(current)}\b([^\n{{]*)"
            match = re.search(header, self._source.code)
            bases = set(_NAME.findall(match[1])) - seen - {current} if match else set()
            seen |= bases
            ahead += sorted(bases)
        return seen

    @cached_property
    def _statements(self) -> list[re.Match[str]]:
        return list(_IMPORT.finditer(self._source.code))

    @cached_property
    def _starts(self) -> list[int]:
        return [statement.start() for statement in self._statements]

    def _module_of(self, statement: re.Match[str]) -> str | None:
        if statement["module"]:
            return statement["module"]
        # Strings are blanked in the code, and stand in the text.
        quoted = _QUOTED.search(self._source.text, statement.start(), statement.end())
        return quoted[1] if quoted else None

    def _named(self) -> Iterator[tuple[str, str]]:
        for statement in self._statements:
            module = self._module_of(statement)
            for part in re.split(r"[,{}()\n]", statement["names"] or statement[0].partition(" ")[2]):
                name, _, other = part.strip().rstrip(";").partition(" as ")
                own = (other or name).strip()
                if own and module is None:
                    yield own.partition(".")[0], name.strip()
                elif own:
                    yield own.partition(" ")[0].rpartition(":")[2], module or ""


def _without_brackets(parameters: str) -> str:
    for _ in range(_MOST_NESTED):
        parameters = _BRACKETS.sub("", parameters)
    return parameters


_IMPORT: Final = re.compile(
    r"^[ \t]*+(?:from[ \t]+(?P<module>[\w.]+)[ \t]+import[ \t]*(?P<names>\([^()]*\)|[^\n]*)"
    r"|(?:import|export)\b(?![ \t]*\()(?:[^\n{;]*\{[^{}]*\}[^\n]*|[^\n]*)"
    r"|(?:use|using|require|include|\#[ \t]*include)\b[^;\n]*(?:\{[^{}]*\})?[^\n]*"
    r"|(?:const|let|var)[ \t]+(?:\{[^{}]*\}|\w+)[ \t]*=[ \t]*(?:await[ \t]+)?(?:require|import)\b[^\n]*)",
    re.MULTILINE,
)
_MADE: Final = re.compile(
    r"[ \t]*(?::[ \t]*(?:[\w.]*\.)?([A-Z]\w*)|:?=[ \t]*(?:await[ \t]+|new[ \t]+)?(?:\w+\.)*([A-Z]\w*)[ \t]*\()"
)
_DECLARED: Final = re.compile(r"\b([A-Z]\w*)\([^\n]{0,200}\)[ \t]+as[ \t]+\Z|\b([A-Z]\w*)[ \t*&]+\Z")
_BINDS: Final = (
    r"^[ \t]+NAME[ \t]*(?::[^=\n]+)?=(?!=)|\bfor[ \t]+(?:\w+,[ \t]*)*NAME\b[^\n]{0,100}\bin\b|\bas[ \t]+NAME\b"
)
_QUOTED: Final = re.compile(r"[\"']([^\"'\n]+)[\"']")
_WORD_END: Final = re.compile(r"(?<=[\w$?!])(?![\w$])")
_ATTRIBUTE: Final = re.compile(r"(?:\?\.|(?<!\.)\.|->|::|!\.)[ \t]*\Z")
_INSTANCE: Final = re.compile(r"[^\s@][ (\t]*@\Z")
"""What stands before an instance variable of Ruby, and not before a decorator, which is alone in its line."""
_RECEIVER: Final = re.compile(r"(?:\b(super\(\)|@?\w+)|[\])])[ \t]*(?:\?\.|\.|->|::|!\.)[ \t]*\Z")
_CALLED: Final = re.compile(r"[ \t]*(?:!|\?\.)?(?:::)?(?:<[^<>()\n]*>)?\(")
_SETS: Final = re.compile(r"[ \t]*(?::[^=\n()]{1,100})?=(?![=>])")
_ARGUMENT: Final = re.compile(r"[(,][ \t]*\Z|^[ \t]+\Z")
_PARAMETERS: Final = re.compile(r"[^()]*(?:\([^()]*\)[^()]*)*")
_BRACKETS: Final = re.compile(r"[\[({][^\[\](){}]*[\])}]")
_MOST_NESTED: Final = 5
_CLASS_HEADER: Final = re.compile(
    r"[ \t]*+(?:\w+[ \t]+){0,5}?(?:class|struct|interface|trait|impl|extension|object|enum)\b[^\n]*?"
    r"(?:[(:,<]|\b(?:extends|implements|for|impl|with)\b)[^\n]*\Z"
)
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_EXPLICIT: Final = frozenset({"python", "javascript", "typescript", "tsx", "rust", "go", "php", "lua"})
_IMPORTING: Final = frozenset({"python", "javascript", "typescript", "tsx"})
_NAMESPACED: Final = frozenset({"go", "rust", "cpp", "c", "elixir", "ruby", "php", "lua", "haskell"})
_BUILTIN_TYPES: Final = frozenset({"Path", "Mock", "MagicMock", "OrderedDict", "Counter", "Thread", "Lock", "Decimal"})
_COMMON: Final = frozenset(
    "get set add update pop items keys values append extend insert remove clear copy sort index count join split strip"
    " read write close open format encode decode replace find match search group start end next send format map filter"
    " push shift slice concat forEach then catch length toString equals hashCode iter len unwrap clone into".split()
)
_OTHER: Final = "same name in another scope"
_OTHER_MODULE: Final = "imported from elsewhere"
_NOT_IMPORTED: Final = "not imported here"
_LOCAL: Final = "a local variable"
_KEYWORD: Final = "an argument of this name"
_COMMON_NAME: Final = "a common name"
_PARTS: Final = re.compile(r"[./\\:]+")
_RELATIVE: Final = frozenset({"crate", "self", "super", "@"})
_MOST_LOOKED_AT: Final = 40
_LONGEST: Final = 400
_MOST_BASES: Final = 20
