"""`scripts/eval symbols`: definitions and references of Python names, compared with those that jedi infers."""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evaluation.asking import command_parser, open_index

from directory_indexer.search.symbols import MENTION, find_symbol, symbol_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from directory_indexer.search.symbols import SymbolResult

_EPILOGUE = """
Of each tree are taken N definitions (classes, functions and methods) at random, each asked for by its name with what it
stands in. "definitions" is the share of them whose line is in the answer. References are lines, those of the
definition left out. jedi follows types as far as it can; what it cannot infer counts against us, and so does a use that
it misses. "certain" are those that the answer has no doubt about, "all" are all. jedi must be installed beside it.
"""
_Lines = set[tuple[str, int]]


class _Sample(NamedTuple):
    """A definition that jedi finds: its qualified name, its position, and the lines that refer to it."""

    name: str
    place: tuple[str, int]
    references: _Lines


class _Counts(NamedTuple):
    """Numbers of lines: correct, returned and existing ones."""

    right: int
    answered: int
    there: int

    def __str__(self) -> str:
        return f"{self.right / max(self.there, 1):>8.3f}{self.right / max(self.answered, 1):>10.3f}"


def symbols(arguments: Sequence[str]) -> None:
    """Print a row for each tree, and one for all."""
    parser = command_parser("symbols", __doc__, _EPILOGUE, "tree: a directory of Python files")
    parser.add_argument("--names", type=int, default=60, metavar="N", help="ask for so many of each (60)")
    options = parser.parse_args(arguments)
    print(f"{'':16}{'names':>6}{'defined':>9}{'all: R':>8}{'P':>10}{'certain: R':>12}{'P':>6}")
    with tempfile.TemporaryDirectory() as temporary:
        data_dir = options.data_dir or Path(temporary)
        rows = [_measured(tree.resolve(), data_dir / tree.name, options.names) for tree in options.places]
    if len(rows) > 1:
        _print("all", *(_sum(column) for column in zip(*rows, strict=True)))


def _measured(tree: Path, data_dir: Path, n_names: int) -> tuple[_Counts, _Counts, _Counts]:
    samples = list(_samples(tree, n_names))
    defined, every, certain = [], [], []
    app = open_index(tree, data_dir, indexing={"embedding": "off"})
    with app.docstore.snapshot() as snapshot:
        for sample in samples:
            answer = find_symbol(snapshot, symbol_request(sample.name))
            at = {(str(each.path), each.definition.start_line) for each in answer.definitions}
            defined.append(_Counts(sample.place in at, 1, 1))
            for counts, is_certain in ((every, False), (certain, True)):
                lines = _lines(answer, is_certain=is_certain)
                counts.append(_Counts(len(lines & sample.references), len(lines), len(sample.references)))
    app.close()
    _print(tree.name, sums := _sum(defined), all_sums := _sum(every), certain_sums := _sum(certain))
    return sums, all_sums, certain_sums


def _samples(tree: Path, n_names: int) -> Iterator[_Sample]:
    """Yield definitions with all references, by jedi."""
    import jedi  # noqa: PLC0415 - only this measurement needs it
    from jedi.inference import references  # noqa: PLC0415

    references._PARSED_FILE_LIMIT = 100_000  # noqa: SLF001 - else it stops after 30 files
    project = jedi.Project(tree, sys_path=[str(tree.parent), *sys.path])
    files = sorted(tree.rglob("*.py"))
    names = [(path, name) for path in files for name in _names_in(jedi.Script(path=path, project=project))]
    chosen = random.Random(1).sample(names, min(n_names, len(names)))
    for path, name in chosen:
        script = jedi.Script(path=path, project=project)
        try:
            inferred = script.get_references(name.line, name.column, include_builtins=False)
        except (AttributeError, IndexError, RecursionError):
            continue  # jedi 0.20 fails on some names
        lines = {(str(use.module_path), use.line) for use in inferred if not use.is_definition() or _is_import(use)}
        below = {(file, line) for file, line in lines if Path(file).is_relative_to(tree)}
        yield _Sample(_qualified(name), (str(path), name.line), below - {(str(path), name.line)})


def _names_in(script: Any) -> Iterator[Any]:
    for name in script.get_names(all_scopes=True, definitions=True):
        is_named = name.type in ("class", "function") and not name.name.startswith("__")
        if is_named and "import" not in name.description and name.get_line_code().lstrip().startswith(_HEADS):
            yield name


def _qualified(name: Any) -> str:
    parts = [name.name]
    above = name.parent()
    while above is not None and above.type in ("class", "function"):
        parts.insert(0, above.name)
        above = above.parent()
    if len(parts) == 1:
        file = Path(str(name.module_path))
        parts.insert(0, file.parent.name if file.stem == "__init__" else file.stem)
    return ".".join(parts)


def _is_import(name: Any) -> bool:
    leaf = name._name.tree_name  # noqa: SLF001 - it tells imports from definitions
    statement = leaf.get_definition(import_name_always=True) if leaf is not None else None
    return statement is not None and statement.type.startswith("import")


def _lines(answer: SymbolResult, *, is_certain: bool) -> _Lines:
    return {
        (str(part.path), use.line)
        for part in (*answer.code, *answer.tests)
        for use in part.uses
        if use.how != MENTION and not (is_certain and use.doubt)
    }


def _sum(counts: Iterable[_Counts]) -> _Counts:
    return _Counts(*map(sum, zip(*counts, strict=True)))


def _print(name: str, defined: _Counts, every: _Counts, certain: _Counts) -> None:
    share = defined.right / max(defined.there, 1)
    print(f"{name:16}{defined.there:>6}{share:>9.3f}{every}{certain}", flush=True)


_HEADS = ("def ", "class ", "async def ", "@")
