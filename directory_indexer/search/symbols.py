"""Definitions and references of a name, read from the indexed texts of the files that hold it.

All places of the name are found as `grep` finds them, so none is missing that the index has. What a place is (a call,
an import, a mention in a comment) follows from its line. Which of several definitions it refers to follows from
`symbol_scopes`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Annotated, Final, NamedTuple

from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, exact_text, lies_in
from directory_indexer.ranking.query_syntax import has_role
from directory_indexer.search.grep import FileMatches
from directory_indexer.search.symbol_files import SourceWithName, find_files_with_name
from directory_indexer.search.symbol_scopes import FileDefinition, NameOccurrence, NameScope
from directory_indexer.search.symbol_source import CALLABLE, Definition
from directory_indexer.storage.documents.store import Snapshot

with lazily:
    from directory_indexer.ranking.analyzer import query_words
    from directory_indexer.ranking.spelling import may_be_misspelt, nearest_word
    from directory_indexer.ranking.word_forms import fts_phrase
    from directory_indexer.search.issue_localisation import heading_names


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


class DefinitionLocation(NamedTuple):
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


class SymbolResult(NamedTuple):
    """Definitions, uses and callers of a name; in each list certain ones come first, and calls before other uses."""

    request: SymbolRequest
    definitions: tuple[DefinitionLocation, ...]
    code: tuple[Uses, ...]
    tests: tuple[Uses, ...]
    documents: tuple[Uses, ...]
    callers: tuple[Caller, ...] = ()
    n_unread: int = 0
    """Files that hold the name and were not read, because they are many."""
    nearest: str = ""
    """A symbol with nearly that name, if the name is nowhere."""

    @property
    def has_results(self) -> bool:
        """Whether the name occurs anywhere."""
        return bool(self.definitions or self.code or self.tests or self.documents)

    @property
    def spelling_notes(self) -> tuple[str, ...]:
        """The note that suggests another name."""
        return (f"did you mean {self.nearest}?",) if self.nearest else ()


def symbol_request(name: str, *, scope: tuple[FilePath, ...] = (), depth: int = 0) -> SymbolRequest:
    """Parse `name`, `Class.name`, `Class::name` or `Class#name`.

    Raises:
        UsageError: `name` has no such form.
    """
    if len(name) > _MAX_NAME_CHARS:
        raise UsageError(f"a symbol name cannot have {len(name):,} characters", hint="search finds long texts")
    parts = [part for part in _SEPARATORS.split(name.strip().removesuffix("()")) if part]
    if not parts or not all(map(_NAME.fullmatch, parts)):
        raise UsageError(f"'{name}' is not a symbol name", hint="write name or Class.name; search finds other words")
    return SymbolRequest(parts[-1], ".".join(parts[:-1]), scope, depth)


def find_symbol(snapshot: Snapshot, request: SymbolRequest) -> SymbolResult:
    """Return the definitions and references of a name.

    Raises:
        NotIndexedError: nothing is indexed, or nothing where the request looks.
    """
    names = _SymbolReader(snapshot, request)
    definitions, uses = names.definitions, names.uses
    code = [part for part in uses if not _is_test_or_document(part)]
    tests = [part for part in uses if _is_test_or_document(part) and not _is_document(part)]
    documents = [part for part in uses if _is_document(part)]
    callers = tuple(_callers(snapshot, request, code)) if request.depth else ()
    symbol = SymbolResult(
        request,
        tuple(definitions),
        code=_in_order(code),
        tests=_in_order(tests),
        documents=_in_order(documents),
        callers=callers,
        n_unread=names.n_unread,
    )
    return symbol if symbol.has_results else symbol._replace(nearest=_nearest_name(snapshot, request))


def _nearest_name(snapshot: Snapshot, request: SymbolRequest) -> str:
    """Return the name in a heading that is nearest in spelling; "" if none is near."""
    typed = query_words(request.name)
    known = snapshot.words.known(typed)
    words = [
        word if word in known else (may_be_misspelt(word) and nearest_word(word, snapshot.words)) or ""
        for word in typed
    ]
    if not words or not all(words):
        return ""
    ranked = snapshot.words.ranked(f"heading : {fts_phrase(tuple(words))}", file_ids_json=None, limit=_MAX_HEADINGS)
    chunks = snapshot.chunks.by_id(id_ for id_, _ in ranked)
    return next(
        (
            name
            for chunk in (chunks[id_] for id_, _ in ranked if id_ in chunks)
            if not request.scope or any(lies_in(chunk.path, place) for place in request.scope)
            for name in sorted(heading_names(chunk.chunk.heading))
            if query_words(name) == words
        ),
        "",
    )


def _is_document(uses: Uses) -> bool:
    return all(use.how == MENTION for use in uses.uses)


def _is_test_or_document(uses: Uses) -> bool:
    return _is_document(uses) or has_role(exact_text(uses.path), "test")


def _in_order(uses: Iterable[Uses]) -> tuple[Uses, ...]:
    return tuple(
        sorted(
            uses,
            key=lambda part: (min(_certainty((use.how, use.doubt)) for use in part.uses), part.path, part.start_line),
        )
    )


def symbol_notes(symbol: SymbolResult) -> tuple[str, ...]:
    """Return the notes on an answer: its limits, and the next command."""
    unread = f"{symbol.n_unread} more files hold the name and were not read; name a directory to look in"
    first = next(iter(symbol.definitions), None)
    if first is None:
        return (*((unread,) if symbol.n_unread else ()), *symbol.spelling_notes)
    definition = first.definition
    reads = (
        f"dirindex get {display(first.path)} --lines {definition.start_line}-{definition.end_line} shows the definition"
    )
    return (*((unread,) if symbol.n_unread else ()), reads)


def _callers(snapshot: Snapshot, request: SymbolRequest, code: Sequence[Uses]) -> list[Caller]:
    """Return the symbols that call a name for certain, each with those that call it, and those only once."""
    seen = {request.qualified}

    def above(uses: Iterable[Uses], depth: int) -> Iterator[Caller]:
        for part in [part for part in _in_order(uses) if part.symbol and _has_call(part)][:_MAX_CALLERS]:
            line = next(use.line for use in part.uses if use.how == CALL and not use.doubt)
            yield Caller(depth, part.path, part.symbol, line)
            if depth + 1 < request.depth and part.symbol not in seen and len(seen) < _MAX_CALLERS:
                seen.add(part.symbol)
                container, _, name = part.symbol.rpartition(".")
                names = _SymbolReader(snapshot, SymbolRequest(name, container, request.scope))
                yield from above((other for other in names.uses if not _is_test_or_document(other)), depth + 1)

    return list(above(code, 0))


def _has_call(uses: Uses) -> bool:
    return any(use.how == CALL and not use.doubt for use in uses.uses)


class _SymbolReader:
    """Reads the files that hold a name."""

    def __init__(self, snapshot: Snapshot, request: SymbolRequest) -> None:
        files = find_files_with_name(snapshot, request.name, request.scope)
        self.n_unread = files.n_unread
        self._sources = {source.path: source.file.source for source in files.sources}
        defined = {source.path: tuple(_defined(source, request.name)) for source in files.sources}
        at = [FileDefinition(path, definition) for path, definitions in defined.items() for definition in definitions]
        self.scope = NameScope(request.name, request.container, at)
        self.definitions = [self._definition(at) for at in self.scope.requested]
        self.uses = [uses for source in files.sources for uses in self._uses(source, defined[source.path])]
        self.uses += map(_mentions, files.matching_documents)

    def _definition(self, at: FileDefinition) -> DefinitionLocation:
        signature = self._sources[at.path].signature(at.definition.start_line)
        return DefinitionLocation(at.path, at.definition, signature, has_role(exact_text(at.path), "test"))

    def _uses(self, source: SourceWithName, defined: Sequence[Definition]) -> Iterator[Uses]:
        placed = self._uses_with_enclosing(source, {definition.start_line for definition in defined})
        for _, group in groupby(placed, key=lambda item: (item[0], item[1].how == MENTION)):
            parts = list(group)
            above = parts[0][0]
            name, start = (above.qualified, above.start_line) if above else ("", 1)
            yield Uses(source.path, name, start, tuple(use for _, use in parts))

    def _uses_with_enclosing(
        self, source: SourceWithName, own_lines: Collection[int]
    ) -> Iterator[tuple[Definition | None, Use]]:
        text = source.file.source
        n_classified = 0
        for number, starts in groupby(source.starts, key=text.line_at):
            in_code = [start for start in starts if text.is_code(start, self.scope.name)]
            if in_code and number in own_lines:
                continue
            enclosing = text.enclosing(number)
            classified = [(MENTION, "")]
            if in_code and n_classified < _MAX_CLASSIFIED:
                classified = [
                    self.scope.classify(NameOccurrence(source.path, source.file, start, enclosing)) for start in in_code
                ]
            elif in_code:
                classified = [("use", _NOT_CLASSIFIED_DOUBT)]
            n_classified += len(in_code)
            how, doubt = classified[0] if len(classified) == 1 else min(classified, key=_certainty)
            yield enclosing, Use(number, " ".join(text.line(number)[:_MAX_LINE_CHARS].split()), how, doubt or None)


def _certainty(classified: tuple[str, str | None]) -> tuple[bool, int]:
    how, doubt = classified
    return bool(doubt), _ORDER_OF_KINDS.index(how)


def _defined(source: SourceWithName, name: str) -> Iterator[Definition]:
    """Yield the definitions of a name, and where there is none, what is bound to it outside of functions."""
    text = source.file.source
    own = [definition for definition in text.definitions if definition.name == name]
    yield from own
    lines = {definition.start_line for definition in own}
    pattern = re.compile(_BINDING.replace("NAME", re.escape(name)), re.MULTILINE)
    seen = set[str]()
    for line in dict.fromkeys(map(text.line_at, source.starts)):
        match = pattern.match(text.code, text.line_start(line))
        if match is None or line in lines or source.file.module_at(match.start("name")) is not None:
            continue
        above = text.enclosing(line)
        is_attribute = match["self"] is not None
        if above is not None and above.kind in CALLABLE and not is_attribute:
            continue
        if above is None and match["indent"] and not match["words"]:
            continue  # an argument of a call that has several lines
        if is_attribute and above is not None:
            above = next(
                (definition for definition in text.enclosing_definitions(above) if definition.kind not in CALLABLE),
                None,
            )
        container = above.qualified if above else ""
        if container not in seen:
            seen.add(container)
            yield Definition(name, "attribute" if is_attribute or container else "variable", line, line, container)


def _mentions(matches: FileMatches) -> Uses:
    uses = tuple(Use(line.number, " ".join(line.text[:_MAX_LINE_CHARS].split()), MENTION) for line in matches.lines)
    return Uses(matches.path, "", 1, uses)


CALL: Final = "call"
MENTION: Final = "mention"
_ORDER_OF_KINDS: Final = (CALL, "base", "use", "set", "import", MENTION)
_MAX_HEADINGS: Final = 20
_SEPARATORS: Final = re.compile(r"\.|::|#|->")
_NAME: Final = re.compile(r"[^\W\d]\w*[?!]?|\$\w+|#\w+")
_BINDING: Final = (
    r"^(?P<indent>[ \t]*+)(?P<words>(?:(?:export|const|let|var|val|static|final|public|private|protected|internal|pub"
    r"|constexpr|readonly|my|our|local|type|typedef|declare|define|\#[ \t]*define|[A-Z][\w<>,?\[\]]*|int|long|bool"
    r"|boolean|char|double|float|unsigned|size_t|auto)[ \t*]+)*)(?:(?P<self>self|this)\.|(?:module\.)?exports\.)?"
    r"(?P<name>NAME)(?![\w$])[ \t]*(?::(?!:)[^=\n]*(?:=(?!=)|$)|:?=(?![=>])|;|(?<=define NAME)(?=[ \t(]))"
)
_NOT_CLASSIFIED_DOUBT: Final = "one of very many in this file"
_MAX_CLASSIFIED: Final = 500
_MAX_LINE_CHARS: Final = 240
_MAX_CALLERS: Final = 50
_MAX_NAME_CHARS: Final = 4096
