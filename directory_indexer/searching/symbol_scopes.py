"""Whose name stands at a place, where several things have it: judged by receivers, imports and local variables.

It is a judgement by form, as a person reads code who has only this file open. What stays open is said in words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from directory_indexer.paths import FilePath, exact_text
from directory_indexer.searching.symbol_source import Definition, SourceText


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
    """Whether a function is defined in another one, and a place lies in that, too."""
    if at.path != place.path or not at.definition.container or place.enclosing is None:
        return False
    around = place.source.around(place.enclosing)
    return any(one.qualified == at.definition.container and one.kind in ("function", "method") for one in around)


class Place(NamedTuple):
    """Where a name stands in a text, and the definition around it."""

    path: FilePath
    source: SourceText
    start: int
    enclosing: Definition | None


class NameScope:
    """A name with all its definitions, of which those in `container` were asked for."""

    def __init__(self, name: str, container: str, defined: Sequence[DefinedAt]) -> None:
        self.name = name
        self.defined = defined
        self.asked = [one for one in defined if not container or _is_in(one, container)]
        self.pattern = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
        self._owners = {one.definition.container.rpartition(".")[2] for one in self.asked if one.definition.container}
        self._others = {
            one.definition.container.rpartition(".")[2]
            for one in defined
            if one not in self.asked and one.definition.container
        }
        self._imports: dict[FilePath, _Imports] = {}

    def judge(self, place: Place) -> tuple[str, str]:
        """Return how a name is used at a place, and why it may be another one; empty where nothing speaks for that."""
        line = _line_around(place)
        how = self._how(place, line)
        if not self.asked:
            return how, "its definition is not indexed"
        if how == "import":
            return how, self._doubt_of_import(place)
        if receiver := _receiver(
            line.before.removesuffix(" ").removesuffix("->") if place.source.kind == "python" else line.before
        ):
            return how, self._doubt_of_attribute(place, receiver)
        if place.source.kind == "python" and _ARGUMENT.search(line.before) and _SETS.match(line.behind):
            return "set", _KEYWORD
        return how, self._doubt_of_name(place, how)

    def _how(self, place: Place, line: _Line) -> str:
        if self._imports_of(place).spans_over(place.start):
            return "import"
        if _CLASS_HEADER.match(line.before):
            return "base"
        if _CALLED.match(line.behind):
            return "call"
        return "set" if _SETS.match(line.behind) else "use"

    def _doubt_of_import(self, place: Place) -> str:
        if not any(not one.definition.container for one in self.asked):
            return _OTHER
        module = self._imports_of(place).module_at(place.start)
        return "" if module is None or self._is_from(module, place) else _OTHER_MODULE

    def _doubt_of_attribute(self, place: Place, receiver: str) -> str:
        if receiver in ("self", "cls", "this", "super()", "@"):
            return self._doubt_of_own(place)
        if receiver in self._owners:
            return ""
        module = self._imports_of(place).names.get(receiver)
        at_top = [one for one in self.asked if not one.definition.container]
        if module is not None and at_top:
            full = f"{module}.{receiver}"
            return "" if self._is_from(module, place) or self._is_from(full, place) else _OTHER_MODULE
        if not self._owners:
            return "" if place.source.kind in _NAMESPACED and not self._others else _OTHER
        if (kind := _type_of(place, receiver)) is not None:
            return self._doubt_of_type(kind, place)
        if receiver in self._others or (module is not None and not self._is_from(module, place)):
            return _OTHER
        if self._others:
            return f"{len(self._others)} other{'s have' if len(self._others) > 1 else ' has'} this name"
        return _COMMON_NAME if self.name in _COMMON else ""

    def _doubt_of_own(self, place: Place) -> str:
        classes = (
            [one for one in place.source.around(place.enclosing) if one.kind not in ("function", "method")]
            if place.enclosing
            else []
        )
        if not classes:
            return "" if not self._others else _OTHER
        return self._doubt_of_type(classes[0].name, place)

    def _doubt_of_type(self, name: str, place: Place) -> str:
        if name in self._owners:
            return ""
        if name in self._others:
            return _OTHER
        bases = _bases(place.source, name)
        if bases & self._owners or (bases and not self._others):
            return ""
        return _OTHER if self._others or name in _BUILTIN_TYPES else ""

    def _doubt_of_name(self, place: Place, how: str) -> str:
        if any(_encloses(one, place) for one in self.asked):
            return ""
        at_top = [one for one in self.asked if not one.definition.container]
        if not at_top:
            return self._doubt_of_bare_method(place, how)
        if place.enclosing and self._is_local(place, place.enclosing):
            return _LOCAL
        if any(one.path == place.path for one in at_top):
            return ""
        if any(one.path == place.path and not one.definition.container for one in self.defined):
            return _OTHER
        imports = self._imports_of(place)
        if self.name in imports.names:
            return "" if self._is_from(imports.names[self.name], place) else _OTHER_MODULE
        if imports.has_star or place.source.kind not in _IMPORTING:
            return "" if len({one.path for one in self.defined}) == 1 or self._is_near(place, at_top) else _OTHER
        return _NOT_IMPORTED

    def _doubt_of_bare_method(self, place: Place, how: str) -> str:
        if place.source.kind in _EXPLICIT and how != "base":
            enclosing = place.enclosing
            is_inside = enclosing is not None and enclosing.kind not in ("function", "method")
            return "" if enclosing is not None and is_inside and enclosing.name in self._owners else _OTHER
        return self._doubt_of_own(place)

    def _is_local(self, place: Place, enclosing: Definition) -> bool:
        """Whether a function binds the name itself: as a parameter, or by an assignment."""
        if place.source.kind != "python":
            return False
        for around in place.source.around(enclosing):
            if around.kind not in ("function", "method"):
                return False
            first, last = place.source.line_start(around.start_line), place.source.line_start(around.end_line + 1)
            own = place.source.code[first : last if last > first else None]
            head, _, body = own.partition("(")
            parameters = _PARAMETERS.match(body)
            name = re.escape(self.name)
            if parameters and re.search(rf"(?:^|[,*])\s*{name}\s*(?:[:,=]|\Z)", _without_brackets(parameters[0])):
                return True
            binds = rf"^[ \t]+{name}[ \t]*(?::[^=\n]+)?=(?!=)|\bfor[ \t]+(?:\w+,[ \t]*)*{name}\b[^\n]*\bin\b|\bas[ \t]+{name}\b"
            if re.search(binds, body, re.MULTILINE) and not re.search(rf"\b(?:global|nonlocal)\b[^\n]*\b{name}\b", own):
                return True
        return False

    def _is_from(self, module: str, place: Place) -> bool:
        """Whether a module can have one of the definitions: its own file, or a package that it lies in."""
        parts = [
            part
            for part in re.split(r"[./\\:]+", module.strip("'\""))
            if part not in ("", "crate", "self", "super", "@")
        ]
        for one in self.asked:
            names = exact_text(one.path).split(os.sep)
            names[-1] = names[-1].partition(".")[0]
            if not parts:  # `from . import`
                if os.path.dirname(one.path) == os.path.dirname(place.path) or one.path == place.path:
                    return True
                continue
            if parts[0] in names or parts[-1] in names:
                return True
        return False

    @staticmethod
    def _is_near(place: Place, at: Sequence[DefinedAt]) -> bool:
        return any(os.path.dirname(one.path) == os.path.dirname(place.path) for one in at)

    def _imports_of(self, place: Place) -> _Imports:
        if place.path not in self._imports:
            self._imports[place.path] = _Imports(place.source)
        return self._imports[place.path]


class _Line(NamedTuple):
    """What stands before and behind a name."""

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


def _receiver(before: str) -> str:
    """Return what a name is an attribute of; `?` where that has no name."""
    if not _ATTRIBUTE.search(before):
        return (
            "@" if before.endswith("@") and before[-2:-1] in ("", " ", "(", "\t") and not before.strip() == "@" else ""
        )
    found = _RECEIVER.search(before)
    return found[1] if found and found[1] else "?"


def _type_of(place: Place, receiver: str) -> str | None:
    """Return the class that a variable was made with or declared as, as far as the function around says so."""
    if not receiver.isidentifier():
        return None
    source, enclosing = place.source, place.enclosing
    first = source.line_start(enclosing.start_line) if enclosing else 0
    name = re.escape(receiver)
    made = re.compile(
        rf"\b{name}[ \t]*(?::[ \t]*(?:[\w.]*\.)?(?P<declared>[A-Z]\w*)|:?=[ \t]*(?:await[ \t]+|new[ \t]+)?(?:\w+\.)*(?P<made>[A-Z]\w*)[ \t]*\()"
        rf"|(?:\b|\.)(?P<opened>[A-Z]\w*)\([^\n]*\)[ \t]+as[ \t]+{name}\b|\b(?P<typed>[A-Z]\w*)[ \t*&]+{name}\b"
    )
    last = None
    for found in made.finditer(source.code, first, place.start):
        last = found
    if last is None and enclosing:
        last = made.search(source.code, 0, first)
    return next((value for value in last.groups() if value), None) if last else None


def _bases(source: SourceText, name: str) -> set[str]:
    """Return the names that a class of this text builds on, those of its bases here included."""
    seen: set[str] = set()
    ahead = [name]
    while ahead:
        current = ahead.pop()
        found = re.search(rf"\b(?:class|struct|interface|trait)[ \t]+{re.escape(current)}\b([^\n{{]*)", source.code)
        bases = set(_NAME.findall(found[1])) - seen - {current} if found else set()
        seen |= bases
        ahead += sorted(bases)[:_MOST_BASES] if len(seen) < _MOST_BASES else []
    return seen


def _without_brackets(parameters: str) -> str:
    for _ in range(_MOST_NESTED):
        parameters = _BRACKETS.sub("", parameters)
    return parameters


class _Imports:
    """What a file imports, by name: from which module each comes."""

    def __init__(self, source: SourceText) -> None:
        self._source = source

    @cached_property
    def _statements(self) -> list[re.Match[str]]:
        return list(_IMPORT.finditer(self._source.code))

    @cached_property
    def names(self) -> dict[str, str]:
        """The module of each name."""
        return dict(self._named())

    @cached_property
    def has_star(self) -> bool:
        """Whether all names of a module are imported."""
        return any("*" in found[0] for found in self._statements)

    def spans_over(self, start: int) -> bool:
        """Whether a place lies in an import."""
        return any(found.start() <= start < found.end() for found in self._statements)

    def module_at(self, start: int) -> str | None:
        """Return the module that is imported from at a place; None where none is named there."""
        found = next((one for one in self._statements if one.start() <= start < one.end()), None)
        return self._module_of(found) if found else None

    def _module_of(self, found: re.Match[str]) -> str | None:
        if found["module"]:
            return found["module"]
        # Strings are blanked in the code, and stand in the text.
        quoted = _QUOTED.search(self._source.text, found.start(), found.end())
        return quoted[1] if quoted else None

    def _named(self) -> Iterator[tuple[str, str]]:
        for found in self._statements:
            module = self._module_of(found)
            for part in re.split(r"[,{}()\n]", found["names"] or ""):
                name, _, other = part.strip().rstrip(";").partition(" as ")
                own = (other or name).strip()
                if own and module is None:
                    yield own.partition(".")[0], name.strip()
                elif own:
                    yield own.rpartition(":")[2], module or ""


_IMPORT: Final = re.compile(
    r"^[ \t]*+(?:from[ \t]+(?P<module>[\w.]+)[ \t]+import[ \t]*(?P<names>\([^()]*\)|[^\n]*)"
    r"|(?:import|export)\b(?![ \t]*\()(?:[^\n{;]*\{[^{}]*\}[^\n]*|[^\n]*)|(?:use|using|require|include|\#[ \t]*include)\b[^;\n]*(?:\{[^{}]*\})?[^\n]*"
    r"|(?:const|let|var)[ \t]+(?:\{[^{}]*\}|\w+)[ \t]*=[ \t]*(?:await[ \t]+)?(?:require|import)\b[^\n]*)",
    re.MULTILINE,
)
_QUOTED: Final = re.compile(r"[\"']([^\"'\n]+)[\"']")
_WORD_END: Final = re.compile(r"(?<=[\w$?!])(?![\w$])")
_ATTRIBUTE: Final = re.compile(r"(?:\?\.|(?<!\.)\.|->|::|!\.)[ \t]*\Z")
_RECEIVER: Final = re.compile(r"(?:\b(super\(\)|@?\w+)|[\])])[ \t]*(?:\?\.|\.|->|::|!\.)[ \t]*\Z")
_CALLED: Final = re.compile(r"[ \t]*(?:!|\?\.)?(?:::)?(?:<[^<>()\n]*>)?\(")
_SETS: Final = re.compile(r"[ \t]*(?::[^=\n()]{1,100})?=(?![=>])")
_ARGUMENT: Final = re.compile(r"[(,][ \t]*\Z|^[ \t]+\Z")
_PARAMETERS: Final = re.compile(r"[^()]*(?:\([^()]*\)[^()]*)*")
_BRACKETS: Final = re.compile(r"[\[({][^\[\](){}]*[\])}]")
_MOST_NESTED: Final = 5
_CLASS_HEADER: Final = re.compile(
    r"[ \t]*(?:\w+[ \t]+)*(?:class|struct|interface|trait|impl|extension|object|enum)\b[^\n]*(?:[(:,<]|\bextends\b|\bimplements\b|\bfor\b|\bimpl\b|\bwith\b)"
    r"[^\n]*\Z"
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
_LONGEST: Final = 400
_MOST_BASES: Final = 20
