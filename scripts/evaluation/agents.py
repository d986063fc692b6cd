"""`scripts/eval agents`: questions about seven repositories, answered by typical calls of dirindex, and of rg and cat.

A question is answered when all lines that answer it, and their files, stand in what the calls print within the budget.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evaluation.asking import open_index
from evaluation.rivals import Ripgrep, run

from directory_indexer.core.paths import resolved_path
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.search.symbols import find_symbol, symbol_request
from directory_indexer.text.formatting import PathStyle, plain
from directory_indexer.text.results import search_rows
from directory_indexer.text.structure import symbol_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from directory_indexer.app import App

_BYTES_PER_TOKEN = 3
_MOST_HITS = 10
_QUESTIONS = """
flask calls get_send_file_max_age | src/flask/app.py | src/flask/blueprints.py | max_age = self.get_send_file_max_age(
flask calls locate_app | src/flask/cli.py | app = locate_app(import_name, name) | locate_app(import_name, None, raise_if
flask breaks preprocess_request | src/flask/app.py | rv = self.preprocess_request(ctx) | wsgi_app
flask place the name of the session cookie | src/flask/app.py | "SESSION_COOKIE_NAME": "session"
flask tests load_dotenv | tests/test_cli.py | assert load_dotenv()
datasette calls path_with_format | datasette/url_builder.py | path = path_with_format(path=path, format=format)
datasette calls sqlite_timelimit | datasette/database.py | with sqlite_timelimit(conn, time_limit_ms)
datasette breaks derive_named_parameters | datasette/views/database.py | for key in derive_named_parameters(self._sql)
datasette place time limit for a SQL query | datasette/app.py | Setting("sql_time_limit_ms", 1000
datasette tests escape_fts | tests/test_utils.py | utils.escape_fts(query)
express calls tryStat | lib/view.js | var stat = tryStat(path) | stat = tryStat(path)
express calls compileETag | lib/application.js | this.set('etag fn', compileETag(val))
express breaks acceptParams | lib/utils.js | ? acceptParams(type) | lib/response.js
express place default of the trust in proxies | lib/application.js | this.set('trust proxy', false)
express tests compileETag | test/utils.js | utils.compileETag(true)
gin calls serveError | gin.go | serveError(context, 405, default405Body) | serveError(context, 404, default404Body)
gin calls nameOfFunction | debug.go | context.go | return nameOfFunction(c.handlers.Last()) | Handler: nameOfFunction(
gin breaks redirectTrailingSlash | gin.go | redirectTrailingSlash(context) | ServeHTTP
gin place whether a fixed path is redirected by default | gin.go | RedirectFixedPath: false
gin tests filterFlags | utils_test.go | filterFlags("text/html;")
rack calls clean_path_info | lib/rack/files.rb | clean_path_info = Utils.clean_path_info(path_info)
rack calls select_best_encoding | lib/rack/deflater.rb | Utils.select_best_encoding(%w(gzip identity)
rack breaks make_params | lib/rack/multipart/parser.rb | params = make_params | parse_nested_query
rack place limit of the depth of parameters | lib/rack/utils.rb | QueryParser.make_default(32)
rack tests build_nested_query | test/spec_utils.rb | Rack::Utils.build_nested_query("foo" => nil)
cobra calls stripFlags | command.go | argsWOflags := stripFlags(innerArgs, c) | legacyArgs(commandFound, stripFlags(
cobra calls validateRequiredFlags | command.go | c.validateRequiredFlags(); err != nil
cobra breaks isFlagArg | command.go | case isFlagArg(arg) | ExecuteC
cobra place smallest distance for suggestions of commands | command.go | c.SuggestionsMinimumDistance = 2
cobra tests OnlyValidArgs | args_test.go | Args: OnlyValidArgs
aiohttp calls content_disposition_filename | aiohttp/multipart.py | disposition_filename(params, "name") | "filename")
aiohttp calls proxies_from_env | aiohttp/helpers.py | proxies_in_env = proxies_from_env()
aiohttp breaks _wrap_create_connection | aiohttp/connector.py | self._wrap_create_connection( | _create_proxy_connection
aiohttp place how long a server keeps idle connections alive | aiohttp/web | keepalive_timeout: float = 75.0
aiohttp tests guess_filename | tests/test_helpers.py | helpers.guess_filename(fp, "no-throw")
"""


class Question(NamedTuple):
    """A question: its repository, its type, the name or the words, and the parts of a correct answer."""

    repository: str
    play: str
    subject: str
    parts: tuple[str, ...]

    def is_answered(self, answer: str) -> bool:
        """Whether an answer contains all parts, ignoring white space."""
        text = " ".join(answer.split())
        return all(part in text for part in self.parts)


class Result(NamedTuple):
    """The result of one way to answer a question."""

    way: str
    play: str
    is_answered: bool
    n_tokens: int


def agents(arguments: Sequence[str]) -> None:
    """Print a table of correct answers by type of question."""
    parser = argparse.ArgumentParser(prog="scripts/eval agents", description=__doc__)
    parser.add_argument("trees", nargs="+", metavar="NAME=TREE", help="flask, datasette, express, gin, rack …")
    parser.add_argument("--data-dir", type=Path, help="where indexes are kept from run to run")
    parser.add_argument("--budget", type=int, default=2000, metavar="TOKENS", help="of each answer (2000)")
    parser.add_argument("--show", action="store_true", help="also print what was not answered")
    options = parser.parse_args(arguments)
    trees = {name: Path(tree).resolve() for name, _, tree in (each.partition("=") for each in options.trees)}
    results = [result for name, tree in trees.items() for result in _results(name, tree, options)]
    print(f"{'':14}{'questions':>10}" + "".join(f"{way:>12}{'tokens':>8}" for way in ("dirindex", "rg and cat")))
    for play in (*dict.fromkeys(result.play for result in results), ""):
        own = [result for result in results if not play or result.play == play]
        columns = "".join(_column([result for result in own if result.way == way]) for way in ("dirindex", "rg"))
        print(f"{play or 'all':14}{len(own) // 2:>10}{columns}")


def questions() -> Iterator[Question]:
    """Yield the questions."""
    for line in _QUESTIONS.strip().splitlines():
        head, *parts = (part.strip() for part in line.split(" | "))
        repository, play, subject = head.split(" ", 2)
        yield Question(repository, play, subject, tuple(parts))


def _column(results: Sequence[Result]) -> str:
    n_tokens = sum(result.n_tokens for result in results) // max(len(results), 1)
    return f"{sum(result.is_answered for result in results):>12}{n_tokens:>8}"


def _results(name: str, tree: Path, options: argparse.Namespace) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as temporary:
        app = open_index(tree, (options.data_dir or Path(temporary)) / name, indexing={"embedding": "off"})
        for question in (each for each in questions() if each.repository == name):
            room = options.budget * _BYTES_PER_TOKEN
            for way, text in (
                ("dirindex", _dirindex(app, tree, question, options.budget)),
                ("rg", _rg(tree, question)),
            ):
                answer = text.encode()[:room].decode("utf-8", "ignore")
                if options.show and not question.is_answered(answer):
                    print(f"{way} does not answer: {name} {question.play} {question.subject}")
                n_tokens = -(-len(answer.encode()) // _BYTES_PER_TOKEN)
                yield Result(way, question.play, question.is_answered(answer), n_tokens)
        app.close()


def _dirindex(app: App, tree: Path, question: Question, max_tokens: int) -> str:
    """Return the answer of `symbol`, with indirect callers for impact questions, or of keyword `search`."""
    paths = PathStyle(working_directory=str(resolved_path(tree)))
    if question.play == "place":
        request = SearchRequest(question.subject, mode=SearchMode.KEYWORD, limit=_MOST_HITS)
        result = app.searcher.search(request)
        read = "\n".join(f"{hit.path}:{hit.start_line}\n{hit.text}" for hit in result.hits)
        return f"{search_rows(result, paths=paths)}{read}"
    with app.docstore.snapshot() as snapshot:
        symbol = find_symbol(snapshot, symbol_request(question.subject, depth=2 * (question.play == "breaks")))
    return plain(symbol_lines(symbol, paths=paths, max_tokens=max_tokens))


def _rg(tree: Path, question: Question) -> str:
    """Return the lines with the name or the words, followed by the files, those with most lines first."""
    if question.play == "place":
        rows = Ripgrep(tree).rare_words(question.subject)
        return "".join(row.printed for row in rows)
    lines = run(
        "rg", "--no-config", "-nwF", "--no-heading", "-H", "--sort", "path", "-e", question.subject, "--", ".", cwd=tree
    )
    if question.play != "breaks":
        return lines
    counts: defaultdict[str, int] = defaultdict(int)
    for line in lines.splitlines():
        counts[line.partition(":")[0]] += 1
    files = sorted(counts, key=lambda path: -counts[path])
    return lines + "".join((tree / path).read_text("utf-8", "replace") for path in files)
