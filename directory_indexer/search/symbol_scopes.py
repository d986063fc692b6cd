"""Name resolution: whether a use of a name refers to a requested definition, by receivers, imports and local variables.

It is a heuristic on the text of one file, without types. A use that may refer to another definition has a doubt, a
reason in words.
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


class FileDefinition(NamedTuple):
    """A definition and its file."""

    path: FilePath
    definition: Definition


def _module_parts(path: FilePath) -> list[str]:
    """Return the directories of a file, and last the name by which it is imported."""
    *folders, file = exact_text(path).split(os.sep)
    return [*folders, file.partition(".")[0]]


def _is_in(at: FileDefinition, container: str) -> bool:
    """Whether a definition stands in something of this name: a class, a function, or the module that its file is."""
    *folders, stem = _module_parts(at.path)
    module = folders[-1] if stem in ("__init__", "index", "mod") and folders else stem
    return f".{module}.{at.definition.container}".rstrip(".").endswith(f".{container}")


class NameOccurrence(NamedTuple):
    """A place of a name in a text, and the definition around it."""

    path: FilePath
    file: SourceModule
    start: int
    enclosing: Definition | None


class NameScope:
    """A name with all its definitions, of which those in `container` are requested."""

    def __init__(self, name: str, container: str, defined: Sequence[FileDefinition]) -> None:
        self.name = name
        self.requested = [at for at in defined if not container or _is_in(at, container)]
        self._owners = {at.definition.container.rpartition(".")[2] for at in self.requested} - {""}
        others = set(defined).difference(self.requested)
        self._others = {at.definition.container.rpartition(".")[2] for at in others} - {""}
        self._at_top = {at.path for at in self.requested if not at.definition.container}
        self._all_at_top = {at.path for at in defined if not at.definition.container}
        self._near = {os.path.dirname(path) for path in self._at_top}
        self._n_files = len({at.path for at in defined})
        self._directories = {os.path.dirname(at.path) for at in self.requested}
        self._modules = {part for at in self.requested for part in _module_parts(at.path)}
        self._nested: dict[FilePath, set[str]] = {}
        for at in self.requested:
            self._nested.setdefault(at.path, set()).add(at.definition.container)
        self._is_local_in: dict[tuple[FilePath, int], bool] = {}
        escaped = re.escape(name)
        self._parameter = re.compile(rf"(?:^|[,*])\s*{escaped}\s*(?:[:,=]|\Z)")
        self._binding = re.compile(_BINDS.replace("NAME", escaped), re.MULTILINE)
        self._declaration = re.compile(rf"\b(?:global|nonlocal)\b[^\n]{{0,200}}\b{escaped}\b")

    def classify(self, occurrence: NameOccurrence) -> tuple[str, str]:
        """Return the kind of use, and why it may refer to another definition; empty if nothing suggests so."""
        line = _line_around(occurrence, self.name)
        how = self._kind_of_use(occurrence, line)
        if not self.requested:
            return how, "its definition is not indexed"
        if how == "import":
            return how, self._doubt_of_import(occurrence)
        if receiver := _receiver(line.before, occurrence.file.source.kind):
            return how, self._doubt_of_attribute(occurrence, receiver)
        if occurrence.file.source.kind == "python" and _ARGUMENT.search(line.before) and _SETS.match(line.behind):
            return "set", _DOUBT_ARGUMENT
        return how, self._doubt_of_name(occurrence, how)

    def _kind_of_use(self, place: NameOccurrence, line: _LineAround) -> str:
        if place.file.module_at(place.start) is not None:
            return "import"
        if _CLASS_HEADER.match(line.before):
            return "base"
        if _CALLED.match(line.behind):
            return "call"
        return "set" if _SETS.match(line.behind) else "use"

    def _doubt_of_import(self, place: NameOccurrence) -> str:
        if not self._at_top:
            return _DOUBT_OTHER_SCOPE
        module = place.file.module_at(place.start)
        return "" if not module or self._is_from(module, place) else _DOUBT_OTHER_MODULE

    def _doubt_of_attribute(self, place: NameOccurrence, receiver: str) -> str:
        if receiver in ("self", "cls", "this", "super()", "@"):
            return self._doubt_of_own(place)
        if receiver in self._owners:
            return ""
        module = place.file.imported_modules.get(receiver)
        if module is not None and self._at_top:
            is_from = self._is_from(module, place) or self._is_from(f"{module}.{receiver}", place)
            return "" if is_from else _DOUBT_OTHER_MODULE
        if not self._owners:
            return "" if place.file.source.kind in _NAMESPACED and not self._others else _DOUBT_OTHER_SCOPE
        return self._doubt_of_method(place, receiver, module)

    def _doubt_of_method(self, place: NameOccurrence, receiver: str, module: str | None) -> str:
        """Return the doubt of a method: by the type of the receiver, else by the number of methods with that name."""
        if (kind := _type_of_receiver(place, receiver)) is not None:
            return self._doubt_of_type(kind, place)
        if receiver in self._others or (module is not None and not self._is_from(module, place)):
            return _DOUBT_OTHER_SCOPE
        if self._others:
            return f"{len(self._others)} other{'s have' if len(self._others) > 1 else ' has'} this name"
        return _DOUBT_COMMON_NAME if self.name in _COMMON_METHOD_NAMES else ""

    def _doubt_of_own(self, place: NameOccurrence) -> str:
        around = place.file.source.enclosing_definitions(place.enclosing) if place.enclosing else ()
        own = next((outer for outer in around if outer.kind not in CALLABLE), None)
        if own is None:
            return _DOUBT_OTHER_SCOPE if self._others else ""
        return self._doubt_of_type(own.name, place)

    def _doubt_of_type(self, name: str, place: NameOccurrence) -> str:
        if name in self._owners:
            return ""
        if name in self._others:
            return _DOUBT_OTHER_SCOPE
        bases = place.file.base_names(name)
        if bases & self._owners or (bases and not self._others):
            return ""
        return _DOUBT_OTHER_SCOPE if self._others or name in _BUILTIN_TYPES else ""

    def _doubt_of_name(self, place: NameOccurrence, how: str) -> str:
        if self._is_enclosed(place):
            return ""
        if not self._at_top:
            return self._doubt_of_bare_method(place, how)
        if self._is_local(place):
            return _DOUBT_LOCAL
        if place.path in self._at_top:
            return ""
        if place.path in self._all_at_top:
            return _DOUBT_OTHER_SCOPE
        return self._doubt_of_imported(place)

    def _doubt_of_imported(self, place: NameOccurrence) -> str:
        file = place.file
        if self.name in file.imported_modules:
            return "" if self._is_from(file.imported_modules[self.name], place) else _DOUBT_OTHER_MODULE
        if not file.has_star_import and place.file.source.kind in _IMPORTING:
            return _DOUBT_NOT_IMPORTED
        is_near = os.path.dirname(place.path) in self._near
        return "" if is_near or self._n_files == 1 else _DOUBT_OTHER_SCOPE

    def _doubt_of_bare_method(self, place: NameOccurrence, how: str) -> str:
        if place.file.source.kind not in _EXPLICIT or how == "base":
            return self._doubt_of_own(place)
        around = place.enclosing
        return "" if around and around.kind not in CALLABLE and around.name in self._owners else _DOUBT_OTHER_SCOPE

    def _is_from(self, module: str, place: NameOccurrence) -> bool:
        """Whether a module can have one of the definitions: its own file, or a package that it lies in."""
        parts = [part for part in _PARTS.split(module.strip("'\"")) if part and part not in _RELATIVE]
        if not parts:  # `from . import`
            return os.path.dirname(place.path) in self._directories
        return not self._modules.isdisjoint((parts[0], parts[-1]))

    def _is_enclosed(self, place: NameOccurrence) -> bool:
        """Whether the name is defined in a function, and a place lies in that, too."""
        containers = self._nested.get(place.path, set()) - {""}
        if not containers or place.enclosing is None:
            return False
        around = place.file.source.enclosing_definitions(place.enclosing)
        return any(outer.qualified in containers and outer.kind in CALLABLE for outer in around)

    def _is_local(self, place: NameOccurrence) -> bool:
        """Whether a function of Python around a place binds the name itself: as a parameter, or by an assignment."""
        source = place.file.source
        if place.enclosing is None or source.kind != "python":
            return False
        for around in source.enclosing_definitions(place.enclosing):
            if around.kind not in CALLABLE:
                return False
            key = (place.path, around.start_line)
            if key not in self._is_local_in:
                self._is_local_in[key] = self._binds_name(place.file.source, around)
            if self._is_local_in[key]:
                return True
        return False

    def _binds_name(self, source: SourceText, function: Definition) -> bool:
        first = source.line_start(function.start_line)
        last = source.line_start(function.end_line + 1)
        code = source.code[first : last if last > first else None]
        body = code.partition("(")[2]
        if self.name not in body:
            return False
        parameters = _PARAMETERS.match(body)
        if parameters and self._parameter.search(_without_brackets(parameters[0])):
            return True
        return bool(self._binding.search(body)) and not self._declaration.search(code)


class _LineAround(NamedTuple):
    """The text of a line before and behind a name."""

    before: str
    behind: str


def _line_around(place: NameOccurrence, name: str) -> _LineAround:
    code = place.file.source.code
    end = place.start + len(name)
    first = code.rfind("\n", 0, place.start) + 1
    before = code[max(first, place.start - _MAX_STATEMENT_CHARS) : place.start]
    if first and not before.strip():
        # A chain of calls, or arguments, one a line.
        previous = code[code.rfind("\n", 0, first - 1) + 1 : first - 1].rstrip()
        before = previous[-_MAX_STATEMENT_CHARS:] if previous.endswith((".", "(", ",")) else before
    return _LineAround(before, code[end : end + _MAX_STATEMENT_CHARS])


def _receiver(before: str, kind: str) -> str:
    """Return the receiver that a name is an attribute of; `?` for a receiver without a name."""
    before = before.rstrip(" \t")
    if not before.endswith((".", "->", "::", "@")) or (kind == "python" and before.endswith("->")):
        return ""
    if not _ATTRIBUTE.search(before):
        return "@" if _INSTANCE.search(before) else ""
    match = _RECEIVER.search(before)
    return match[1] if match and match[1] else "?"


def _type_of_receiver(place: NameOccurrence, receiver: str) -> str | None:
    """Return the class that a variable was last made with or declared as, as far as the text before says so."""
    if not receiver.isidentifier():
        return None
    code, at = place.file.source.code, place.start
    for _ in range(_MAX_LOOKED_AT):
        at = code.rfind(receiver, max(place.start - _FARTHEST, 0), at)
        if at < 0:
            return None
        end = at + len(receiver)
        if code[at - 1 : at].isidentifier() or code[end : end + 1].isidentifier():
            continue
        match = _DECLARED_OR_ASSIGNED_TYPE.match(code, end, end + _MAX_STATEMENT_CHARS)
        if match is None and code[at - 1 : at] in _BEFORE_VARIABLE:
            before = code[max(at - _MAX_STATEMENT_CHARS, code.rfind("\n", 0, at) + 1) : at]
            pattern = _OPENED if before.rstrip().endswith(" as") else _DECLARED
            match = pattern.search(before)
        if match:
            return match[match.lastindex or 0]
    return None


class SourceModule:
    """A source text with its imports and the bases of its classes."""

    def __init__(self, source: SourceText) -> None:
        self.source = source

    @cached_property
    def imported_modules(self) -> dict[str, str]:
        """The module of each name that is imported."""
        return dict(self._imported_names())

    @cached_property
    def has_star_import(self) -> bool:
        """Whether all names of a module are imported."""
        return any("*" in statement[0] for statement in self._statements)

    def module_at(self, start: int) -> str | None:
        """Return the module that is imported from at a place, empty where it has no name; None outside of imports."""
        at = bisect_right(self._starts, start) - 1
        if at < 0 or start >= self._statements[at].end():
            return None
        return self._module_of(self._statements[at]) or ""

    def base_names(self, name: str) -> frozenset[str]:
        """Return the names that a class builds on, those of its bases in this file included."""
        seen: set[str] = set()
        ahead = [name]
        while ahead and len(seen) < _MAX_BASES:
            bases = self._bases.get(ahead.pop(), frozenset()) - seen
            seen |= bases
            ahead += sorted(bases)
        return frozenset(seen) - {name}

    @cached_property
    def _bases(self) -> dict[str, frozenset[str]]:
        bases: dict[str, frozenset[str]] = {}
        for match in _CLASS.finditer(self.source.code):
            bases.setdefault(match[1], frozenset(_NAME.findall(match[2])))
        return bases

    @cached_property
    def _statements(self) -> list[re.Match[str]]:
        return list(_IMPORT.finditer(self.source.code))

    @cached_property
    def _starts(self) -> list[int]:
        return [statement.start() for statement in self._statements]

    def _module_of(self, statement: re.Match[str]) -> str | None:
        if statement["module"]:
            return statement["module"]
        # Strings are blanked in the code, and stand in the text.
        quoted = _QUOTED.search(self.source.text, statement.start(), statement.end())
        return quoted[1] if quoted else None

    def _imported_names(self) -> Iterator[tuple[str, str]]:
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
    for _ in range(_MAX_NESTED):
        parameters = _BRACKETS.sub("", parameters)
    return parameters


_IMPORT: Final = re.compile(
    r"^[ \t]*+(?:from[ \t]+(?P<module>[\w.]+)[ \t]+import[ \t]*(?P<names>\([^()]*\)|[^\n]*)"
    r"|(?:import|export)\b(?![ \t]*\()(?:[^\n{;]*\{[^{}]*\}[^\n]*|[^\n]*)"
    r"|(?:use|using|require|include|\#[ \t]*include)\b[^;\n]*(?:\{[^{}]*\})?[^\n]*"
    r"|(?:const|let|var)[ \t]+(?:\{[^{}]*\}|\w+)[ \t]*=[ \t]*(?:await[ \t]+)?(?:require|import)\b[^\n]*)",
    re.MULTILINE,
)
_DECLARED_OR_ASSIGNED_TYPE: Final = re.compile(
    r"[ \t]*(?::[ \t]*(?:[\w.]*\.)?([A-Z]\w*)|:?=[ \t]*(?:await[ \t]+|new[ \t]+)?(?:\w+\.)*([A-Z]\w*)[ \t]*\()"
)
_DECLARED: Final = re.compile(r"\b([A-Z]\w*)[ \t*&]+\Z")
_BEFORE_VARIABLE: Final = frozenset(" \t*&")
_OPENED: Final = re.compile(r"\b([A-Z]\w*)\([^\n]{0,200}\)[ \t]+as[ \t]+\Z")
_BINDS: Final = (
    r"^[ \t]+NAME[ \t]*(?::[^=\n]+)?=(?!=)|\bfor[ \t]+(?:\w+,[ \t]*)*NAME\b[^\n]{0,100}\bin\b|\bas[ \t]+NAME\b"
)
_QUOTED: Final = re.compile(r"[\"']([^\"'\n]+)[\"']")
_ATTRIBUTE: Final = re.compile(r"(?:\?\.|(?<!\.)\.|->|::|!\.)[ \t]*\Z")
_INSTANCE: Final = re.compile(r"[^\s@][ (\t]*@\Z")
"""The text before an instance variable of Ruby; before a decorator, which is alone in its line, it does not match."""
_RECEIVER: Final = re.compile(r"(?:\b(super\(\)|@?\w+)|[\])])[ \t]*(?:\?\.|\.|->|::|!\.)[ \t]*\Z")
_CALLED: Final = re.compile(r"[ \t]*(?:!|\?\.)?(?:::)?(?:<[^<>()\n]*>)?\(")
_SETS: Final = re.compile(r"[ \t]*(?::[^=\n()]{1,100})?=(?![=>])")
_ARGUMENT: Final = re.compile(r"[(,][ \t]*\Z|^[ \t]+\Z")
_PARAMETERS: Final = re.compile(r"[^()]*(?:\([^()]*\)[^()]*)*")
_BRACKETS: Final = re.compile(r"[\[({][^\[\](){}]*[\])}]")
_MAX_NESTED: Final = 5
_CLASS_HEADER: Final = re.compile(
    r"[ \t]*+(?:\w+[ \t]+){0,5}?(?:class|struct|interface|trait|impl|extension|object|enum)\b[^\n]*?"
    r"(?:[(:,<]|\b(?:extends|implements|for|impl|with)\b)[^\n]*\Z"
)
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_CLASS: Final = re.compile(r"\b(?:class|struct|interface|trait)[ \t]+(\w+)\b(?=([^\n{]{0,400}))")
_EXPLICIT: Final = frozenset({"python", "javascript", "typescript", "tsx", "rust", "go", "php", "lua"})
_IMPORTING: Final = frozenset({"python", "javascript", "typescript", "tsx"})
_NAMESPACED: Final = frozenset({"go", "rust", "cpp", "c", "elixir", "ruby", "php", "lua", "haskell"})
_BUILTIN_TYPES: Final = frozenset({"Path", "Mock", "MagicMock", "OrderedDict", "Counter", "Thread", "Lock", "Decimal"})
_COMMON_METHOD_NAMES: Final = frozenset(
    "get set add update pop items keys values append extend insert remove clear copy sort index count join split strip"
    " read write close open format encode decode replace find match search group start end next send format map filter"
    " push shift slice concat forEach then catch length toString equals hashCode iter len unwrap clone into".split()
)
_DOUBT_OTHER_SCOPE: Final = "same name in another scope"
_DOUBT_OTHER_MODULE: Final = "imported from elsewhere"
_DOUBT_NOT_IMPORTED: Final = "not imported here"
_DOUBT_LOCAL: Final = "a local variable"
_DOUBT_ARGUMENT: Final = "an argument of this name"
_DOUBT_COMMON_NAME: Final = "a common name"
_PARTS: Final = re.compile(r"[./\\:]+")
_RELATIVE: Final = frozenset({"crate", "self", "super", "@"})
_MAX_LOOKED_AT: Final = 40
_MAX_STATEMENT_CHARS: Final = 400
_MAX_BASES: Final = 20
_FARTHEST: Final = 50_000
