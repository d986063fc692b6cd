"""Questions and the passages that answer them, from what the product itself has indexed.

    packaging/model/mine.py DATA_DIR TREES OUT

`DATA_DIR` is the data directory of `dirindex index TREES` (`indexing.embedding` may be `off`), where `TREES` has a
directory a kind of package and below it one a package. Passages are the product's chunks, as it embeds them. A line of
`OUT/passages.jsonl` is `{"id", "package", "file", "format", "text"}`, one of `OUT/pairs.jsonl` `{"passage", "kind",
"question", "start", "end"}`: characters from `start` to `end` are where the question stands in the passage, if it does.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
import sys
import zlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from directory_indexer.chunking.chunks import text_to_embed
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.code_table import CODE_FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROWS = """SELECT c.id, f.path, f.kind, c.ordinal, c.heading, t.text FROM chunks c JOIN files f ON f.id = c.file_id
    JOIN chunk_texts t ON t.id = c.id WHERE f.path LIKE ? ORDER BY c.file_id, c.ordinal"""
PROSE = frozenset({"markdown", "restructuredtext", "html", "man", "asciidoc", "text", "org"})
MOST_OF_PASSAGE = 4

BLOCK = re.compile(
    r"/\*\*?.*?\*/"
    r"|(?:^[ \t]*(?://[/!]?|\#(?!\s*(?:include|define|if|endif|elif|else|undef|pragma|error|!|\[)))[^\n]*\n)+"
    r'|(?<=:\n)\s*[rRuU]?""".*?"""',
    re.DOTALL | re.MULTILINE,
)
MARKS = re.compile(r'^[ \t]*(?:/\*+!?|\*+/|///?!?|//!?|\*+|\#+!?|[rRuU]?""")[ \t]?|"""\s*$|\*+/\s*$', re.MULTILINE)
TAGS = re.compile(r"^\s*(@\w|\\\w|:param|:return|>>>|\.\. |```|Args:|Parameters|Returns|Examples?:?$)", re.MULTILINE)
DEFINES = re.compile(
    r"^\s*(?:@|\#\[)|\b(?:def|class|func|fn|function|struct|interface|trait|impl|enum|module|type|public|private|"
    r"protected|static|export|pub|fun|object|defp?|defmodule)\b|^[\w:<>*&,\s]+\([^;]*$",
)
MESSAGE = re.compile(
    r"(?:raise \w+\(|throw (?:new )?\w+\(|errors\.New\(|Errorf\(|panic!?\(|bail!\(|Error\(|abort\()\s*"
    r"f?(['\"`])([^'\"`\n]{20,140})\1"
)
OPTION = re.compile(r"^\s*\W{0,4}(?:-\w\W{1,6})?--[\w-]+[^\n]{0,40}?\n?\s{2,}([A-Z][^\n]{20,200})", re.MULTILINE)
PURPOSE = re.compile(r"^[\w.:, -]{1,80} (?:\\?-{1,2}|\u2013|\u2014) ([^\n]{15,140})$", re.MULTILINE)
INTRODUCES = re.compile(r"^([A-Z][^\n:]{25,200}):{1,2}\s*\n(?=\s*\n?(?:```|    |\t|<pre|\.\. code))", re.MULTILINE)
SENTENCE = re.compile(r"(?:(?<=[.!?]\s)|^)([A-Z][^.!?\n]{30,220}[.!?])(?=\s|$)", re.MULTILINE)
ENTRY = re.compile(r"^\s*[-*+] +(.{25,300}?)(?=\n\s*[-*+] |\n\n|$)", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"`{1,2}:?(?:\w+:`)?~?([\w.]{4,60})(?:\(\))?`{1,2}|\b([a-z]\w*_\w+|[a-z]+[A-Z]\w+)\b")
CHANGES = re.compile(r"change|history|news|release|whats_?new", re.IGNORECASE)
GENERIC = re.compile(
    r"^(usage|install\w*|examples?|overview|introduction|notes?|parameters?|arguments?|options?|returns?|see also"
    r"|contents?|licen[sc]e|description|api|references?|summary|background|syntax|details|features|basics|name"
    r"|synopsis|methods?|properties|attributes|other|v?\d[\d. ]*.*|\W*)$",
    re.IGNORECASE,
)
NOISE = re.compile(
    r"copyright|licen[sc]e|todo|fixme|deprecat|noqa|eslint|pragma|generated|@internal|https?:|see also|inheritdoc"
    r"|^\W*$",
    re.IGNORECASE,
)


class Passage(NamedTuple):
    """A chunk as it is embedded; `body` is where its own text begins."""

    id: int
    package: str
    file: str
    format: str
    ordinal: int
    heading: str
    text: str
    body: int


class Pair(NamedTuple):
    """A question, and the characters of its passage that say the same in the same words."""

    passage: int
    kind: str
    question: str
    start: int = -1
    end: int = -1


def main() -> None:
    data_dir, trees, out = map(Path, sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(f"file:{data_dir / 'data.db'}?mode=ro", uri=True)
    with (out / "passages.jsonl").open("w") as passages_file, (out / "pairs.jsonl").open("w") as pairs_file:
        for tree in sorted(trees.glob("*/*")):
            passages = list(passages_of(database, tree.resolve()))
            pairs = few_a_passage(pairs_of(passages), random.Random(tree.name))
            used = {pair.passage for pair in pairs}
            for passage in passages:
                if passage.id in used:
                    fields = ("id", "package", "file", "format", "text")
                    passages_file.write(json.dumps({field: getattr(passage, field) for field in fields}) + "\n")
            pairs_file.writelines(json.dumps(pair._asdict()) + "\n" for pair in pairs)
            print(tree.name, len(passages), len(pairs), flush=True)


def passages_of(database: sqlite3.Connection, tree: Path) -> Iterator[Passage]:
    for id_, path, format_, ordinal, heading, stored in database.execute(ROWS, (f"{tree}/%",)):
        text = stored if isinstance(stored, str) else zlib.decompress(stored).decode()
        whole = text_to_embed(text, heading=heading, path=FilePath(path))
        file = path[len(str(tree)) + 1 :]
        yield Passage(id_, tree.name, file, format_, ordinal, heading, whole, len(whole) - len(text))


def few_a_passage(pairs: Iterable[Pair], rng: random.Random) -> list[Pair]:
    """Return the pairs, of each passage some at most, and those of rarer kinds first."""
    by_passage = defaultdict(list)
    for pair in pairs:
        by_passage[pair.passage].append(pair)
    kept = []
    for of_passage in by_passage.values():
        rng.shuffle(of_passage)
        of_passage.sort(key=lambda pair: pair.kind in {"name", "cloze"})
        kept += of_passage[:MOST_OF_PASSAGE]
    return kept


def pairs_of(passages: list[Passage]) -> Iterator[Pair]:
    """Yield the pairs of a package."""
    yield from of_names(passages)
    defined = definitions(passages)
    for passage in passages:
        if passage.format in CODE_FORMATS:
            yield from of_comments(passage)
            yield from of_messages(passage)
        elif CHANGES.search(Path(passage.file).stem):
            yield from of_changes(passage, defined)
        elif passage.format in PROSE:
            yield from of_prose(passage)


def definitions(passages: list[Passage]) -> dict[str, list[int]]:
    """Return the passages in which each symbol of a package begins."""
    places: dict[str, list[int]] = defaultdict(list)
    last = ("", "")
    for passage in passages:
        if passage.format in CODE_FORMATS and passage.heading and (passage.file, passage.heading) != last:
            places[passage.heading.rpartition(" > ")[2]].append(passage.id)
        last = (passage.file, passage.heading)
    return places


def of_names(passages: list[Passage]) -> Iterator[Pair]:
    """Yield the words of a symbol, and of a heading, with the passage where it begins."""
    last = ("", "")
    for passage in passages:
        begins = (passage.file, passage.heading) != last
        last = (passage.file, passage.heading)
        if not begins or not passage.heading:
            continue
        *above, name = passage.heading.split(" > ")
        start = passage.body - 1 - len(name)
        if passage.format in CODE_FORMATS:
            words = split_name(name)
            if 3 <= len(words.split()) <= 8 and not words.startswith(("test", "visit", "init")):
                yield Pair(passage.id, "name", words, start, start + len(name))
        elif passage.format in PROSE and not CHANGES.search(Path(passage.file).stem):
            question = heading_question(above, plain(name))
            if question:
                yield Pair(passage.id, "faq" if name.endswith("?") else "head", question, start, start + len(name))


def heading_question(above: list[str], name: str) -> str:
    """Return what a heading asks; one that says nothing by itself is asked with the one above."""
    if GENERIC.match(name):
        if not above or GENERIC.match(above[-1]):
            return ""
        name = f"{plain(above[-1])} {name.lower()}"
    elif len(name.split()) == 1 and above:
        name = f"{plain(above[-1])} {name}"
    return name if 2 <= len(name.split()) <= 18 and len(name) > 8 and name.isascii() else ""


def of_comments(passage: Passage) -> Iterator[Pair]:
    """Yield the first sentence of each comment that has code below it."""
    text = passage.text
    for block in BLOCK.finditer(text, passage.body):
        code = text[block.end() :].lstrip("\n").split("\n", 3)
        if len("".join(code)) < 40:
            continue
        question = first_sentence(block.group())
        if is_sentence(question):
            is_module = passage.ordinal == 0 and block.start() - passage.body < 20
            is_definition = block.group().lstrip().startswith(('"""', "r")) or DEFINES.search(code[0])
            kind = "module" if is_module else "doc" if is_definition else "comment"
            yield Pair(passage.id, kind, question, *place(text, question, block.start()))


def of_messages(passage: Passage) -> Iterator[Pair]:
    """Yield messages of errors, without the places that are filled in."""
    for match in MESSAGE.finditer(passage.text, passage.body):
        question = re.sub(r"\s+", " ", re.sub(r"%[\w.]+|\$?\{[^}]*\}|\\.", " ", match[2])).strip()
        if len(question.split()) >= 4 and not NOISE.search(question):
            yield Pair(passage.id, "error", question, match.start(2), match.end(2))


def of_changes(passage: Passage, defined: dict[str, list[int]]) -> Iterator[Pair]:
    """Yield entries of a change log with the passage that defines what they name, if there is just one."""
    for match in ENTRY.finditer(passage.text, passage.body):
        names = [(name or other).rpartition(".")[2] for name, other in NAME.findall(match[1])]
        places = [defined[name][0] for name in names if len(defined.get(name, ())) == 1]
        question = plain(first_sentence(match[1]) or match[1])
        if places and is_sentence(question):
            yield Pair(places[0], "change", question)


def of_prose(passage: Passage) -> Iterator[Pair]:
    """Yield what options do, what manual pages are for, what examples show, and sentences of the text itself."""
    text, rng = passage.text, random.Random(passage.id)
    for kind, pattern in (("option", OPTION), ("example", INTRODUCES), ("purpose", PURPOSE)):
        for match in pattern.finditer(text, passage.body):
            question = plain(match[1])
            if is_sentence(question) and (kind != "purpose" or passage.ordinal == 0):
                yield Pair(passage.id, kind, question, match.start(1), match.end(1))
    sentences = [match for match in SENTENCE.finditer(text, passage.body) if is_sentence(plain(match[1]))]
    if len(sentences) >= 3:
        yield Pair(passage.id, "lead", plain(sentences[0][1]), sentences[0].start(1), sentences[0].end(1))
        other = rng.choice(sentences[1:])
        yield Pair(passage.id, "cloze", plain(other[1]), other.start(1), other.end(1))


def first_sentence(comment: str) -> str:
    """Return what a comment says first, without its marks, tags and markup."""
    words = MARKS.sub("", comment).strip()
    paragraph = TAGS.split(re.split(r"\n\s*\n", words, maxsplit=1)[0], maxsplit=1)[0]
    flat = plain(paragraph)
    match = re.match(r"(.{12,260}?[.!?:])(?:\s+(?=[A-Z(`])|$)", flat)
    return (match[1] if match else flat).rstrip(".:! ").strip()


def plain(text: str) -> str:
    """Return a text without markup."""
    text = re.sub(r"<[^<>]{1,60}>", " ", text)
    text = re.sub(r"\{@\w+\s+#?([^}]*)\}", r"\1", text)
    text = re.sub(r":[\w:]+:`~?([^`<]+)(?:<[^`]*>)?`", r"\1", text)
    text = re.sub(r"\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"\\f[BIRP]|[`\[\]]|\*\*|__", "", text)
    return re.sub(r"\s+", " ", text).strip()


def is_sentence(text: str) -> bool:
    """Whether a text is one that people could ask: words, and not too few or many."""
    words = re.findall(r"[A-Za-z][\w']+", text)
    letters = sum(letter.isascii() and (letter.isalpha() or letter == " ") for letter in text)
    return 3 <= len(words) <= 34 and len(text) <= 280 and not NOISE.search(text) and letters > 0.78 * len(text)


def split_name(name: str) -> str:
    """Return the words of an identifier in lower case."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\W]+", " ", name)
    return " ".join(words.split()).lower()


def place(text: str, question: str, start: int) -> tuple[int, int]:
    """Return where the words of a question stand in a text."""
    words = re.findall(r"\w+", question)
    match = re.compile(r"\W+".join(map(re.escape, words))).search(text, start)
    return match.span() if match else (-1, -1)


if __name__ == "__main__":
    main()
