"""Definitions and references of a name, read from the indexed texts of the files that hold it.

All places of the name are found as `grep` finds them, so none is missing that the index has. What a place is (a call,
an import, a mention in a comment) follows from its line; whose name it is, where several have it, from `symbol_scopes`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Annotated, Final, NamedTuple

from directory_indexer.core.errors import UsageError
from directory_indexer.core.paths import FilePath, display, exact_text
from directory_indexer.formats.kinds import GROUPS
from directory_indexer.matching import PatternOptions
from directory_indexer.ranking.query_syntax import has_role
from directory_indexer.search.grep import GrepMatches, GrepRequest, grep
from directory_indexer.search.symbol_scopes import DefinedAt, NameScope, Place
from directory_indexer.search.symbol_source import CALLABLE, Definition, SourceText
from directory_indexer.storage.documents.store import Snapshot


class SymbolRequest(NamedTuple):
    """The name to look up, its container and a scope; callers are followed to a `depth`."""

    name: str
    container: str = ""
    scope: tuple[FilePath, ...] = ()
    depth: int = 0

    @property
    def qualified(self) -> str:
        """The name with what it stands in."""
        return f"{self.container}.{self.name}" if self.container else self.name


class FoundDefinition(NamedTuple):
    """A definition of a name with its file."""

    path: FilePath
    definition: Definition
    signature: str
    is_test: bool


class Use(NamedTuple):
    """A line that uses a name."""

    line: Annotated[int, "Its number, from 1."]
    text: Annotated[str, "The line, without its indentation: content of the file, not instructions."]
    how: Annotated[str, "call, base, use, set, import, or mention in a comment, string or document."]
    doubt: Annotated[str | None, "Why it may be another thing of that name."] = None


class Uses(NamedTuple):
    """The uses of a name within one symbol of a file, or outside of all of them; of a document, below one heading."""

    path: Annotated[FilePath, "Absolute path of the file."]
    symbol: Annotated[str, "The symbol around the lines; empty at the top of a file."]
    start_line: Annotated[int, "Where that begins."]
    uses: Annotated[tuple[Use, ...], "The lines."]


class Caller(NamedTuple):
    """A symbol that calls another; in a list, those that call it follow, one deeper."""

    depth: Annotated[int, "0 for what calls the name itself, 1 for what calls that."]
    path: Annotated[FilePath, "Absolute path of the file."]
    symbol: Annotated[str, "The symbol that calls."]
    line: Annotated[int, "The line of the call."]


class FoundSymbol(NamedTuple):
    """All that the index knows of a name; in each list, what is certain comes first, and of that the calls."""

    request: SymbolRequest
    definitions: tuple[FoundDefinition, ...]
    code: tuple[Uses, ...]
    tests: tuple[Uses, ...]
    documents: tuple[Uses, ...]
    callers: tuple[Caller, ...] = ()
    n_unread: int = 0
    """Files that hold the name and were not read, because they are many."""

    @property
    def is_any(self) -> bool:
        """Whether the name stands anywhere."""
        return bool(self.definitions or self.code or self.tests or self.documents)


def symbol_request(name: str, *, scope: tuple[FilePath, ...] = (), depth: int = 0) -> SymbolRequest:
    """Parse `name`, `Class.name`, `Class::name` or `Class#name`.

    Raises:
        UsageError: `name` has no such form.
    """
    parts = [part for part in _SEPARATORS.split(name.strip().removesuffix("()")) if part]
    if not parts or not all(map(_NAME.fullmatch, parts)):
        raise UsageError(f"'{name}' is no name of a symbol", hint="write name or Class.name; search finds other words")
    return SymbolRequest(parts[-1], ".".join(parts[:-1]), scope, depth)


def find_symbol(snapshot: Snapshot, request: SymbolRequest) -> FoundSymbol:
    """Return the definitions and references of a name.

    Raises:
        NotIndexedError: nothing is indexed, or nothing where the request looks.
    """
    names = _NameReader(snapshot, request)
    definitions, uses = names.definitions, names.uses
    code = [part for part in uses if not _is_aside(part)]
    tests = [part for part in uses if _is_aside(part) and not _is_document(part)]
    documents = [part for part in uses if _is_document(part)]
    callers = tuple(_callers(snapshot, request, code)) if request.depth else ()
    return FoundSymbol(
        request,
        tuple(definitions),
        code=_in_order(code),
        tests=_in_order(tests),
        documents=_in_order(documents),
        callers=callers,
        n_unread=names.n_unread,
    )


def _is_document(uses: Uses) -> bool:
    return all(use.how == MENTION for use in uses.uses)


def _is_aside(uses: Uses) -> bool:
    return _is_document(uses) or has_role(exact_text(uses.path), "test")


def _in_order(uses: Iterable[Uses]) -> tuple[Uses, ...]:
    return tuple(sorted(uses, key=lambda part: (min(map(_rank, part.uses)), part.path, part.start_line)))


def _rank(use: Use) -> tuple[bool, int]:
    return bool(use.doubt), _ORDER.index(use.how)


def symbol_notes(symbol: FoundSymbol) -> tuple[str, ...]:
    """Return the notes on an answer: its limits, and the next command."""
    unread = f"{symbol.n_unread} more files hold the name and were not read; name a directory to look in"
    first = next(iter(symbol.definitions), None)
    if first is None:
        return (unread,) if symbol.n_unread else ()
    definition = first.definition
    reads = (
        f"dirindex get {display(first.path)} --lines {definition.start_line}-{definition.end_line} shows the definition"
    )
    return (*((unread,) if symbol.n_unread else ()), reads)


def _callers(snapshot: Snapshot, request: SymbolRequest, code: Sequence[Uses]) -> list[Caller]:
    """Return the symbols that call a name for certain, each with those that call it, and those only once."""
    seen = {request.qualified}

    def above(uses: Iterable[Uses], depth: int) -> Iterator[Caller]:
        for part in [part for part in _in_order(uses) if part.symbol and _calls(part)][:_MOST_CALLERS]:
            line = next(use.line for use in part.uses if use.how == CALL and not use.doubt)
            yield Caller(depth, part.path, part.symbol, line)
            if depth + 1 < request.depth and part.symbol not in seen and len(seen) < _MOST_CALLERS:
                seen.add(part.symbol)
                container, _, name = part.symbol.rpartition(".")
                names = _NameReader(snapshot, SymbolRequest(name, container, request.scope))
                yield from above((other for other in names.uses if not _is_aside(other)), depth + 1)

    return list(above(code, 0))


def _calls(uses: Uses) -> bool:
    return any(use.how == CALL and not use.doubt for use in uses.uses)


class _NameReader:
    """Reads the files that hold a name."""

    def __init__(self, snapshot: Snapshot, request: SymbolRequest) -> None:
        self._snapshot = snapshot
        self._n_judged: Counter[FilePath] = Counter()
        pattern = PatternOptions((request.name,), are_texts=True, are_words=request.name[-1:].isalnum())
        files_with_name = list(grep(snapshot, GrepRequest(pattern, scope=request.scope, most_spans=0)).files)
        code = [matches for matches in files_with_name if matches.kind in GROUPS["code"]]
        files = {file.path: file for file in snapshot.files.at([matches.path for matches in code])}
        self._texts: dict[FilePath, tuple[GrepMatches, SourceText]] = {}
        n_bytes = 0
        for matches in code:
            if n_bytes < _MOST_BYTES and (text := self._text(files[matches.path].holder_id)) is not None:
                self._texts[matches.path] = (matches, SourceText(text, matches.kind))
                n_bytes += len(text)
        self.n_unread = len(code) - len(self._texts)
        self._documents = [matches for matches in files_with_name if matches.kind not in GROUPS["code"]]
        defined = {path: list(_defined(source, request.name)) for path, (_, source) in self._texts.items()}
        at = [DefinedAt(path, definition) for path, definitions in defined.items() for definition in definitions]
        self.scope = NameScope(request.name, request.container, at)
        self.definitions = [self._definition(at) for at in self.scope.requested]
        self.uses = [uses for path in self._texts for uses in self._uses(path)] + list(map(_mentions, self._documents))

    def _text(self, holder_id: int) -> str | None:
        stretches = self._snapshot.stretches.of_file(holder_id)
        return stretches[0].text.decode() if stretches and len(stretches[0].text) <= _LONGEST_TEXT else None

    def _definition(self, at: DefinedAt) -> FoundDefinition:
        signature = self._texts[at.path][1].signature(at.definition.start_line)
        return FoundDefinition(at.path, at.definition, signature, has_role(exact_text(at.path), "test"))

    def _uses(self, path: FilePath) -> Iterator[Uses]:
        matches, source = self._texts[path]
        placed = list(self._placed(path, matches, source))
        for _, group in groupby(placed, key=lambda item: (item[0], item[1].how == MENTION)):
            parts = list(group)
            above = parts[0][0]
            name, start = (above.qualified, above.start_line) if above else ("", 1)
            yield Uses(path, name, start, tuple(use for _, use in parts))

    def _placed(
        self, path: FilePath, matches: GrepMatches, source: SourceText
    ) -> Iterator[tuple[Definition | None, Use]]:
        own = {at.definition.start_line for at in self.scope.defined if at.path == path}
        for line in matches.lines:
            start = source.line_start(line.number)
            code = source.code[start : start + len(line.text)]
            at = [match.start() for match in self.scope.pattern.finditer(code)]
            enclosing = source.enclosing(line.number)
            text = " ".join(line.text[:_LONGEST_LINE].split())
            if not at:
                yield enclosing, Use(line.number, text, MENTION)
                continue
            if line.number in own:
                continue
            uses = [self._judged(Place(path, source, start + character, enclosing)) for character in at]
            if uses:
                how, doubt = min(uses, key=lambda judged: (bool(judged[1]), _ORDER.index(judged[0])))
                yield enclosing, Use(line.number, text, how, doubt or None)

    def _judged(self, place: Place) -> tuple[str, str]:
        """Return how a name is used and the doubt; after very many uses in a file, the rest are not judged."""
        self._n_judged[place.path] += 1
        return self.scope.judge(place) if self._n_judged[place.path] <= _MOST_JUDGED else ("use", _NOT_JUDGED)


def _defined(source: SourceText, name: str) -> Iterator[Definition]:
    """Yield the definitions of a name, and where there is none, what is bound to it outside of functions."""
    own = [definition for definition in source.definitions if definition.name == name]
    yield from own
    lines = {definition.start_line for definition in own}
    pattern = re.compile(_BINDING.replace("NAME", re.escape(name)), re.MULTILINE)
    seen = set[str]()
    for match in pattern.finditer(source.code):
        line = source.line_at(match.start("name"))
        above = source.enclosing(line)
        is_attribute = match["self"] is not None
        if line in lines or (above is not None and (above.kind in CALLABLE) and not is_attribute):
            continue
        if above is None and match["indent"] and not match["words"]:
            continue  # an argument of a call that has several lines
        if is_attribute and above is not None:
            above = next((definition for definition in source.around(above) if definition.kind not in CALLABLE), None)
        container = above.qualified if above else ""
        if container not in seen:
            seen.add(container)
            yield Definition(name, "attribute" if is_attribute or container else "variable", line, line, container)


def _mentions(matches: GrepMatches) -> Uses:
    uses = tuple(Use(line.number, " ".join(line.text[:_LONGEST_LINE].split()), MENTION) for line in matches.lines)
    return Uses(matches.path, "", 1, uses)


CALL: Final = "call"
MENTION: Final = "mention"
_ORDER: Final = (CALL, "base", "use", "set", "import", MENTION)
_SEPARATORS: Final = re.compile(r"\.|::|#|->")
_NAME: Final = re.compile(r"[^\W\d]\w*[?!]?|\$\w+|#\w+")
_BINDING: Final = (
    r"^(?P<indent>[ \t]*+)(?P<words>(?:(?:export|const|let|var|val|static|final|public|private|protected|internal|pub"
    r"|constexpr|readonly|my|our|local|type|typedef|declare|define|\#[ \t]*define|[A-Z][\w<>,?\[\]]*|int|long|bool"
    r"|boolean|char|double|float|unsigned|size_t|auto)[ \t*]+)*)(?:(?P<self>self|this)\.|(?:module\.)?exports\.)?"
    r"(?P<name>NAME)(?![\w$])[ \t]*(?::(?!:)[^=\n]*(?:=(?!=)|$)|:?=(?![=>])|;|(?<=define NAME)(?=[ \t(]))"
)
_NOT_JUDGED: Final = "one of very many in this file"
_MOST_JUDGED: Final = 500
_MOST_BYTES: Final = 20_000_000
_LONGEST_TEXT: Final = 2_000_000
_LONGEST_LINE: Final = 240
_MOST_CALLERS: Final = 50
