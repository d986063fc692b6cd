"""Queries that follow the grammar of queries in nothing but its pieces, and settings that follow none."""

from __future__ import annotations

import contextlib
import copy
import json
import re
import resource
import shutil
import time
from typing import TYPE_CHECKING, Any

from tortures.contained import CHEAPLY, MEMORY_BYTES, NOT_FOR_TERMINALS, Containment
from tortures.fuzz_corpus import REPOSITORY
from tortures.mutations import NUMBERS, STRINGS, mutated, smallest
from tortures.workbench import CheapApp, Child, plant_small

from directory_indexer.config import load_config
from directory_indexer.core.errors import DirIndexError
from directory_indexer.core.paths import FilePath
from directory_indexer.search.requests import SearchMode, SearchRequest

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path

    from tortures.fuzz import Round

_N_QUERIES = 400
_N_COMMANDS = 4
_N_SETTINGS = 25
_LONGEST_QUERY_SECONDS = 20.0
_PATIENCE_SECONDS = 300.0
_WORDS = (
    *(
        "connection",
        "snapshot",
        "def",
        "the",
        "of",
        "SELECT",
        "chunk_texts",
        "DocStore",
        "größer",
        "naïve",
        "日本語",
        "שלום",
    ),
    *(
        "documents/schema.py",
        "v1.2.3",
        "--data-dir",
        "a.b",
        "C++",
        "x",
        "e\u0301",
        "0x1F",
        "1e9",
        "AND",
        "OR",
        "NOT",
        "NEAR",
    ),
)
_PIECES = (
    *(
        '"',
        "'",
        "-",
        "+",
        "*",
        "?",
        "(",
        ")",
        ":",
        "^",
        "~",
        "/",
        "\\",
        "|",
        "&",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        "=",
        "!",
        ",",
    ),
    *(
        "path:",
        "type:",
        "heading:",
        "-path:",
        "-type:",
        "-heading:",
        'path:"',
        'heading:"',
        "path:**/",
        "type:py,md",
        "--",
    ),
    *(" ", " ", " ", "\t", "\n", "\u3000", "\u00a0", ".", "..", "…", "“", "”", "„", "«", "\u2013", "\u2212"),
)


def fuzz_queries(this: Round) -> None:
    """Ask one index much, in a process that may crash, and a little on a terminal."""
    tree, data_dir = this.place / "tree", this.place / "data"
    plant_small(tree)
    Containment(this.place).run(*CHEAPLY, "index", tree, "--quiet", "--data-dir", data_dir)
    queries = [_query(this.chance) for _ in range(_N_QUERIES)]
    this.count(len(queries))
    while queries:
        n_done, complaint = _search(data_dir, queries)
        if not complaint:
            break
        if this.is_new(complaint):
            _keep_query(this, data_dir, queries[n_done], complaint)
        queries = queries[n_done + 1 :]
    for query in [_query(this.chance).replace("\0", "") for _ in range(_N_COMMANDS)]:
        words = (
            *CHEAPLY,
            "search",
            "--data-dir",
            data_dir,
            "--explain",
            "--",
            _unicode(query),
        )
        output = Containment(this.place).output_of(*words)
        if match := NOT_FOR_TERMINALS.search(output):
            this.broke(f"`search` puts {match[0]!a} on a terminal", name="query.txt", content=_bytes(query))
        if "this is a bug" in output or "Traceback (" in output:
            this.broke("`search` says that it has a bug", name="query.txt", content=_bytes(query))


def _query(chance: random.Random) -> str:
    pools = (_WORDS, _PIECES, _PIECES, STRINGS, NUMBERS)
    parts = [chance.choice(chance.choice(pools)) for _ in range(chance.choice((1, 3, 8, 20, 100)))]
    text = chance.choice(("", " ")).join(parts)
    if chance.random() < 0.3:  # noqa: PLR2004
        text = mutated(_bytes(text), b"path:a type:b", chance)[:5000].decode("utf-8", "replace")
    return text[:5000]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _search(data_dir: Path, queries: Sequence[str]) -> tuple[int, str]:
    """Ask until something breaks; give how many were answered, and what broke."""
    progress = data_dir.parent / "progress"
    child = Child(_ask, data_dir, queries, progress)
    is_late = not child.ends_within(_PATIENCE_SECONDS)
    if is_late:
        child.kill()
    code, output = child.wait()
    n_done = int(progress.read_text() or "0")
    if is_late:
        return n_done, "takes too long"
    if code:
        return n_done, re.sub(
            r"0x[0-9a-f]+|\d{3,}", "…", str(output).split("\n", maxsplit=1)[0][:120]
        ) if output else f"ends with {code}"
    return n_done, ""


def _ask(data_dir: Path, queries: Sequence[str], progress: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    app = CheapApp(load_config(file=None, data_dir=data_dir, environ={}))
    modes = list(SearchMode)
    for number, query in enumerate(queries):
        progress.write_text(str(number))
        before = time.process_time()
        with contextlib.suppress(DirIndexError):
            app.searcher.search(_request(query, modes[len(query) % len(modes)]))
        if time.process_time() - before > _LONGEST_QUERY_SECONDS:
            raise TimeoutError("takes too long")
    app.close()


def _request(query: str, mode: SearchMode) -> SearchRequest:
    """Make a request that follows from its query alone, so that it can be made again."""
    further: dict[str, Any] = {}
    if len(query) % 5 == 0:
        further["globs"] = (_unicode(query[:50]),)
    if len(query) % 7 == 0:
        further["kinds"] = tuple(query.split()[:3])
    if len(query) % 11 == 0:
        further["scope"] = (FilePath(f"/{_unicode(query[:20])}"),)
    return SearchRequest(query, mode=mode, limit=1 + len(query) % 50, **further)


def _unicode(text: str) -> str:
    """Leave out what no command and no message can bring."""
    return text.encode("utf-8", "ignore").decode()


def _keep_query(this: Round, data_dir: Path, query: str, complaint: str) -> None:
    small = smallest(query, lambda some: _search(data_dir, [str(some)])[1] == complaint)
    this.broke(complaint, name="query.txt", content=_bytes(str(small)))


def fuzz_settings(this: Round) -> None:
    """Read configurations that chance made, as a file and as variables of the environment."""
    (this.place / "tree").mkdir()
    (this.place / "tree" / "a.md").write_text("# A\n\nsome words\n", encoding="utf-8")
    for _ in range(_N_SETTINGS):
        content, variables = _some_settings(this.chance), _some_variables(this.chance)
        this.count(1)
        if (complaint := _settings_complaint(this, content, variables)) and this.is_new(complaint):
            if variables and _settings_complaint(this, content, {}) == complaint:
                variables = {}
            if not variables:
                content = bytes(smallest(content, lambda some: _settings_complaint(this, bytes(some), {}) == complaint))
            header = "".join(f"// {name}={value!a}\n" for name, value in variables.items()).encode()
            this.broke(complaint, name="config.json", content=header + content)


def _settings_complaint(this: Round, content: bytes, variables: dict[str, str]) -> str:
    data_dir = this.place / "data"
    shutil.rmtree(data_dir, ignore_errors=True)
    data_dir.mkdir(mode=0o700)
    (data_dir / "config.json").write_bytes(content)
    contained = Containment(this.place)
    environ = contained.environ(**variables)
    commands = [("config", "--json"), ("config",)]
    # Only what is certain to stay on this machine is let further.
    if not re.search(rb"endpoint|provider|path|collection|ca_file", content + "".join(variables).lower().encode()):
        commands += [("index", str(this.place / "tree"), "--json", "--quiet"), ("status", "--json")]
    for command in commands:
        ended = contained.run(*CHEAPLY, *command, "--data-dir", data_dir, environ=environ)
        if complaint := ended.complaint(codes=frozenset({0, 1, 2, 3})):
            return f"`{command[0]}` {complaint}"
    return ""


def _some_settings(chance: random.Random) -> bytes:
    settings = copy.deepcopy(_EXAMPLE)
    if chance.random() < 0.6:  # noqa: PLR2004 - such as a run may have
        settings = {name: settings[name] for name in ("indexing", "monitoring", "serving")}
    for _ in range(chance.choice((0, 1, 1, 2, 5))):
        section = chance.choice(list(settings.values()))
        if isinstance(section, dict) and section:
            name = chance.choice(list(section))
            section[chance.choice((name, name, name, name.upper(), chance.choice(STRINGS)))] = _some_value(chance)
        settings[chance.choice((*settings, "x"))] = section if chance.random() < 0.9 else _some_value(chance)  # noqa: PLR2004
    content = json.dumps(settings, indent=1).encode()
    return mutated(content, json.dumps(_EXAMPLE).encode(), chance) if chance.random() < 0.4 else content  # noqa: PLR2004


def _some_variables(chance: random.Random) -> dict[str, str]:
    variables = {}
    for _ in range(chance.choice((0, 0, 1, 3))):
        section = chance.choice([name for name, value in _EXAMPLE.items() if isinstance(value, dict)])
        name = f"DIRINDEX_{section}__{chance.choice(list(_EXAMPLE[section]))}".upper()
        value = chance.choice((*NUMBERS, *STRINGS, "true", "null", "[]", "{}", '["a"]', '{"a": 1}', "[" * 5000))
        variables[name] = value.replace("\0", "").encode("utf-8", "replace").decode()
    return variables


def _some_value(chance: random.Random) -> Any:
    numbers = (-1, 0, 1, 2**31, 2**63, 2**64, 10**400, 0.5, -0.0, 1e308, True, None)
    text = chance.choice(STRINGS)
    return chance.choice((*numbers, text, text, [], [text], [[]], {}, {text: text}, [None] * 1000, "x" * 10**5))


_EXAMPLE: dict[str, Any] = json.loads((REPOSITORY / "config.example.json").read_text(encoding="utf-8"))
