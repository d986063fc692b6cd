"""Everything that leaves the program, of one scripted session: the contract that a change of its inside keeps.

Each golden is a text below `tests/golden`. `scripts/golden` writes them; a test compares. Paths, ids, dates and
durations, which differ from run to run, are replaced.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from commands import DIRINDEX, run_command
from serving import RawClient, text_of

from directory_indexer.server.rest.documentation import OPENAPI_PATH, documentation_pages
from directory_indexer.server.rest.operation_table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN: Final = Path(__file__).parent / "golden"
_CORPUS: Final = Path(__file__).parent / "data" / "retrieval"
_FILES_DATE: Final = 1_772_366_400
_MAIL: Final = """From: Anna Beck <anna@example.org>
To: team@example.org
Cc: carl@example.org
Subject: Harvest of the walnuts
Date: Mon, 02 Mar 2026 10:00:00 +0000

The walnuts fall early this year. Bring baskets on Saturday.
"""
_SHEET: Final = "item,year,price\nbaskets,2025,14\nladder,2026,88\n"

_SESSION: Final = """
index tree
index tree --dry-run
status
status tree/garden
search "make a dull blade cut again"
search LruCache
search "lid on" --mode keyword --limit 3
search bloom --explain --limit 2
search "from:anna walnuts"
search "cc:carl walnuts"
search "heading:baking bread"
search "type:python cache"
search "cache -is:test"
search cache --facets
search "qzxvy wvutq"
search rent --files
search "token bucket" --max-tokens 200
search tree/src/cache/lru.py
search lru.py
search --also "white stuff" "pickled cucumbers" --limit 3
grep lru
grep -c cache
grep -w queen --context 1
get tree/kitchen/pickles.md
get tree/kitchen/pickles.md --lines 2-3
outline tree/src/cache/lru.py
outline tree/kitchen
similar tree/src/cache/lru.py --limit 3
documents
collection list
scope list
key list
config
usage
search
search --limit 0 bread
get tree/nothing.md
search bread tree/nothing
grep "("
similar tree/nothing.py
forget tree/bike --yes
status --json --verbose
"""

_COMMANDS: Final = (
    "index search grep similar get outline ui status forget config doctor backup restore migrate install serve usage"
    " convert export collection add documents scope key"
).split()

_CALLS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("search", {"query": "make a dull blade cut again"}),
    ("search", {"query": "LruCache", "limit": 3}),
    ("search", {"query": "lid on", "mode": "keyword"}),
    ("search", {"query": "my heap stinks", "mode": "semantic", "limit": 2}),
    ("search", {"query": "from:anna walnuts"}),
    ("search", {"query": "cache", "types": ["python"]}),
    ("search", {"query": "cache", "globs": ["!test_*"]}),
    ("search", {"query": "cache", "max_tokens": 2000, "again": True}),
    ("search", {"query": "cache", "facets": True}),
    ("search", {"query": "qzxvy wvutq"}),
    ("search", {"query": "qzxvy wvutq", "all": True, "again": True, "limit": 3}),
    ("search", {"queries": ["white stuff", "pickled cucumbers"], "limit": 3}),
    ("search", {"query": "lru.py"}),
    ("search", {"query": "bread", "limit": 0}),
    ("search", {"query": "bread", "mode": "magic"}),
    ("search", {}),
    ("search", {"query": "bread", "path": "kitchen"}),
    ("search", {"query": "bread", "cursor": "nothing"}),
    ("search", {"query": "heading:baking bread", "again": True}),
    ("grep", {"pattern": "lru"}),
    ("grep", {"pattern": "cache|queen", "context": 1}),
    ("grep", {"pattern": "a.b", "fixed": True}),
    ("grep", {"pattern": "lru", "globs": ["*.py"], "path": "src"}),
    ("grep", {"pattern": "("}),
    ("grep", {}),
    ("similar_files", {"path": "src/cache/lru.py", "limit": 3}),
    ("similar_files", {"path": "nothing.py"}),
    ("get_content", {"path": "kitchen/pickles.md"}),
    ("get_content", {"path": "kitchen/pickles.md", "start_line": 2, "end_line": 3}),
    ("get_content", {"path": "nothing.md"}),
    ("get_content", {"path": "kitchen"}),
    ("outline", {"path": "src/cache/lru.py"}),
    ("outline", {"path": "kitchen"}),
    ("outline", {"path": "nothing"}),
    ("convert_to_text", {"source": "garden/tools.csv"}),
    ("index", {"path": "garden", "action": "status"}),
    ("index", {"path": "nothing"}),
    ("server_info", {}),
    ("server_info", {"collection": "nothing"}),
    ("nothing", {}),
)

_PROGRESS: Final = re.compile("(reading|improving search by meaning): ")

_VARYING: Final = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\b[0-9a-f]{32,}\b"), "<hash>"),
    (re.compile(r"\b20\d\d-(?!03-01|03-02)\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)"), "<moment>"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s)\b"), "<time>"),
    (
        re.compile(r'("(?:seconds|took_ms|elapsed|milliseconds|bytes_on_disk|database_bytes|pid|megabytes)": )[\d.]+'),
        r"\1<n>",
    ),
    (re.compile(r'((?:next_)?cursor(?:=\\?|": ))"[\w-]{12,}'), r'\1"<cursor>'),
    (re.compile(r"\b\d+(\.\d+)? (KiB|MiB|GiB) (in the database|in Qdrant|of disk|free)"), r"<size> \3"),
    (re.compile(r"\b(just now|\d+ (?:second|minute|day|week|month|year)s? ago)\b"), "<age>"),
)


def made_goldens() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each golden; its paths are as long as in every other run."""
    with tempfile.TemporaryDirectory(prefix="golden-", dir="/tmp") as work:
        yield from Session(Path(work).resolve()).make()


class Session:
    """One index of the corpus in a home of its own, and commands that run beside it."""

    def __init__(self, work: Path) -> None:
        self.work = work
        home = work / "home"
        home.mkdir()
        shutil.copytree(_CORPUS / "corpus", work / "tree")
        (work / "tree" / "mail").mkdir()
        (work / "tree" / "mail" / "harvest.eml").write_text(_MAIL, encoding="utf-8")
        (work / "tree" / "garden" / "tools.csv").write_text(_SHEET, encoding="utf-8")
        for path in (work / "tree").rglob("*"):
            os.utime(path, (_FILES_DATE, _FILES_DATE))
        self.environ = {
            **os.environ,
            "HOME": str(home),
            "TZ": "UTC",
            "NO_COLOR": "1",
            "COLUMNS": "80",
            "XDG_CONFIG_HOME": str(home / ".config"),
            "PYTHONPATH": str(Path(__file__).parent / "exact_products"),
            # A busy machine looks through all of the tree, too.
            "DIRINDEX_SEARCHING__REFRESH_MS": "60000",
        }

    def make(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each golden, in the order in which the session makes them."""
        yield "help.txt", "".join(self._run([*command.split(), "--help"]) for command in ("", *_COMMANDS))
        lines = _SESSION.strip().splitlines()
        yield "session.txt", "".join(self._run(_words(line)) for line in lines[:-2])
        yield "session.json", "".join(self._run([*_words(line), "--json"]) for line in lines[2:-8])
        yield "database.txt", self._database()
        yield "openapi.json", self._settled(_pretty(json.loads(documentation_pages(OPERATIONS)[OPENAPI_PATH].content)))
        with RawClient(environ=self.environ, directory=self.work / "tree") as client:
            client.shake_hands()
            client.call("search", query="load the model", mode="semantic", path="privat", limit=1)
            yield "tools.json", self._settled(_pretty(client.request("tools/list")["result"]))
            yield "calls.json", "".join(self._call(client, name, arguments) for name, arguments in _CALLS)
            yield "ranking.txt", "".join(self._ranked(client, query) for query in _queries())

    def _run(self, words: list[str]) -> str:
        done = run_command([DIRINDEX, *words], env=self.environ, cwd=self.work, check=False)
        notes = "".join(f"# {line}\n" for line in done.stderr.splitlines() if not _PROGRESS.match(line))
        return self._settled(f"$ dirindex {' '.join(words)}\n{_indented(done.stdout)}{notes}[{done.returncode}]\n\n")

    def _call(self, client: RawClient, name: str, arguments: dict[str, Any]) -> str:
        answer = client.request("tools/call", {"name": name, "arguments": arguments})
        return self._settled(
            f"> {name} {json.dumps(arguments)}\n{_pretty(answer.get('result', answer.get('error')))}\n"
        )

    def _ranked(self, client: RawClient, query: str) -> str:
        """Return a query and its hits, each with the name of its file, its lines and its score."""
        text = text_of(client.call("search", query=query, limit=10, max_tokens=10_000, again=True))
        path, rows = "", []
        for line in text.splitlines():
            if hit := re.match(r"\[\d+\] (\S+).*?score ([\d.]+)", line):
                rows.append(f"  {float(hit[2]):.2f} {path.removeprefix(f'{self.work}/tree/')}:{hit[1]}\n")
            elif line and not line.startswith(" "):
                path = line
        return f"{query}\n{''.join(rows)}"

    def _database(self) -> str:
        """Return the schema and the number of rows of each table."""
        with sqlite3.connect(self.work / "home" / ".directory-indexer" / "data.db") as database:
            tables = database.execute("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL ORDER BY name").fetchall()
            rows = [
                f"{name}: {database.execute(f'SELECT count(*) FROM {name}').fetchone()[0]}\n"  # noqa: S608
                for name, sql in tables
                if sql.startswith("CREATE TABLE") and not re.search(r"_(data|idx|docsize)$", name)
            ]
        return self._settled("".join(f"{sql}\n" for _, sql in tables) + "".join(rows))

    def _settled(self, text: str) -> str:
        text = text.replace(str(self.work), "/session").replace(str(self.environ["HOME"]), "/home")
        for pattern, replacement in _VARYING:
            text = pattern.sub(replacement, text)
        return text


def _words(line: str) -> list[str]:
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', line)]


def _indented(output: str) -> str:
    """Return output with JSON on lines of its own, so that a difference is one line."""
    if not output.startswith("{"):
        return output
    return "".join(f"{_pretty(json.loads(line))}" for line in output.splitlines())


def _pretty(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _queries() -> list[str]:
    """Return the questions of the corpus, then words, pairs and beginnings of lines of its files."""
    lines = (_CORPUS / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    queries = [json.loads(line)["text"] for line in lines]
    for path in sorted((_CORPUS / "corpus").rglob("*.*")):
        words = re.findall(r"\w{4,}", path.read_text(encoding="utf-8"))
        longest = sorted(set(words), key=lambda word: (-len(word), word))
        queries += [path.name, longest[0], f"{longest[1]} {longest[2]}", " ".join(words[5:10])]
    return queries
