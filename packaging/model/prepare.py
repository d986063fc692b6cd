"""Mined pairs as tokens to train on: without what stands in evaluation sets, without duplicates, balanced by package.

    packaging/model/prepare.py select MINED OUT HELD_OUT,… EVALUATION_SET…
    packaging/model/prepare.py encode TEXTS TOKENIZER OUT

`select` writes `OUT/train.jsonl` and `OUT/dev.jsonl` (the packages that are held out), a passage with its questions a
line, and counts to `OUT/counts.json`. `encode`, for which a machine with more cores may be at hand, makes arrays of
such a file: `passages` and `questions` are tokens one after the other with their lengths; of each pair `passage`,
`kind`, `package`, `of_file` and `places`, the tokens of the passage that the question repeats.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Fields = dict[str, Any]

QUESTION_TOKENS, PASSAGE_TOKENS = 48, 256
SEPARATOR = 102
MOST_OF_PACKAGE = 3_600
SHARES = {"name": 0.16, "cloze": 0.08, "lead": 0.08, "comment": 0.25, "error": 0.10, "head": 0.25}
TYPES = {"passage": np.int32, "kind": np.uint8, "package": np.uint8, "of_file": np.int32, "places": np.uint16}
KINDS = "doc module comment name error head faq lead cloze option example purpose change".split()
LANGUAGES = {"golang-1.19": "golang", "c_sharp": "c#", "cpp": "c++", "go": "golang"}
ASKED_WITH_LANGUAGE = frozenset("python javascript typescript go rust java c cpp ruby php kotlin".split())
ABOUT_CODE = ("how {0} works", "where is {0}", "{0} handling", "{0} implementation", "code that {0}")
WITH_LANGUAGE = ("{1} {0}", "{1} {0}", "{0} in {1}", "{0} {1}", "{1} how to {0}", "how to {0} in {1}")
STOP = frozenset(
    "a an the of to in on for with and or is are be as by from at it its this that these those into if given using "
    "will can which when used not whether than then your you we our all any their so e.g i.e".split()
)
VERBS = {
    "does": "do",
    "is": "is",
    "this": "this",
    "has": "has",
    "process": "process",
    "pass": "pass",
    "its": "its",
    "class": "class",
}


def main() -> None:
    {"select": select, "encode": encode}[sys.argv[1]](*sys.argv[2:])


def select(mined: str, out: str, held_out: str, *evaluation_sets: str) -> None:
    counts: Counter[str] = Counter()
    passages = {fields["id"]: fields for fields in rows(Path(mined) / "passages.jsonl")}
    lines, evaluation_questions = evaluation_texts(map(Path, evaluation_sets))
    leave_out_leaks(passages, lines, counts)
    pairs = balanced(
        usable(rows(Path(mined) / "pairs.jsonl"), passages, evaluation_questions, counts), passages, counts
    )
    Path(out).mkdir(parents=True, exist_ok=True)
    parts: dict[str, dict[int, list[Any]]] = {"train": defaultdict(list), "dev": defaultdict(list)}
    for pair in pairs:
        passage = passages[pair["passage"]]
        part = "dev" if passage["package"] in held_out.split(",") else "train"
        question = as_asked(pair, passage["format"])
        parts[part][pair["passage"]].append([question, pair["kind"], pair["start"], pair["end"]])
        counts.update([f"{part} pairs", f"{part} kind {pair['kind']}", f"{part} format {passage['format']}"])
        counts[f"{part} package {passage['package']}"] += 1
    for part, questions in parts.items():
        counts[f"{part} passages"] = len(questions)
        with (Path(out) / f"{part}.jsonl").open("w") as file:
            for id_, of_passage in questions.items():
                fields = [passages[id_][field] for field in ("package", "file", "text")]
                file.write(json.dumps([*fields, of_passage], ensure_ascii=False) + "\n")
    (Path(out) / "counts.json").write_text(json.dumps(counts, indent=1, sort_keys=True))


def encode(texts: str, tokenizer_file: str, out: str) -> None:
    """Write the tokens of texts, and which of them each question repeats."""
    tokenizer = Tokenizer.from_file(tokenizer_file)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    chosen = list(rows(Path(texts)))
    numbers: dict[str, dict[Any, int]] = {"package": {}, "file": {}}
    columns = defaultdict(list)
    for first in range(0, len(chosen), 8000):
        part = chosen[first : first + 8000]
        passages = tokenizer.encode_batch([text for _, _, text, _ in part])
        questions = iter(tokenizer.encode_batch([question[0] for *_, of_passage in part for question in of_passage]))
        for at, ((package, file, _, of_passage), passage) in enumerate(zip(part, passages, strict=True), first):
            columns["passages"].append(cut(passage.ids, PASSAGE_TOKENS))
            for _, kind, start, end in of_passage:
                columns["questions"].append(cut(next(questions).ids, QUESTION_TOKENS))
                columns["passage"].append(at)
                columns["kind"].append(KINDS.index(kind))
                columns["package"].append(numbers["package"].setdefault(package, len(numbers["package"])))
                columns["of_file"].append(numbers["file"].setdefault((package, file), len(numbers["file"])))
                limit = min(len(passage.ids), PASSAGE_TOKENS) - 1
                columns["places"].append(tokens_between(passage.offsets, start, end, limit) if start >= 0 else (0, 0))
    np.savez(
        out,
        passages=np.concatenate(columns["passages"]),
        passage_lengths=np.array([len(ids) for ids in columns["passages"]], np.uint16),
        questions=np.concatenate(columns["questions"]),
        question_lengths=np.array([len(ids) for ids in columns["questions"]], np.uint8),
        **{name: np.array(columns[name], dtype) for name, dtype in TYPES.items()},
    )


def rows(file: Path) -> Iterator[Fields]:
    with file.open() as lines:
        yield from map(json.loads, lines)


def normal(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def long_lines(text: str) -> list[bytes]:
    return [digest(line) for line in map(normal, text.splitlines()) if len(line) >= 20]


def evaluation_texts(sets: Iterable[Path]) -> tuple[set[bytes], set[str]]:
    """Return the lines of all documents of evaluation sets, and their questions."""
    lines: set[bytes] = set()
    seen_questions: set[str] = set()
    for directory in sets:
        seen_questions |= {normal(query["text"]) for query in rows(directory / "queries.jsonl")}
        for file in (directory / "corpus").rglob("*"):
            if file.is_file() and file.stat().st_size < 2_000_000:
                lines.update(long_lines(file.read_text(errors="replace")))
    return lines, seen_questions


def leave_out_leaks(passages: dict[int, Fields], lines: set[bytes], counts: Counter[str]) -> None:
    """Remove passages that share lines with an evaluation set, and those that are there already."""
    seen: set[bytes] = set()
    for id_, passage in list(passages.items()):
        own = long_lines(passage["text"])
        n_shared = sum(line in lines for line in own)
        key = digest(normal(passage["text"])[-500:])
        if n_shared >= 2 and n_shared >= 0.3 * len(own):
            counts["passages left out: in an evaluation set"] += 1
        elif key in seen:
            counts["passages left out: duplicates"] += 1
        else:
            seen.add(key)
            continue
        del passages[id_]


def usable(
    pairs: Iterable[Fields], passages: dict[int, Fields], seen_questions: set[str], counts: Counter[str]
) -> Iterator[Fields]:
    """Yield pairs whose question is neither of an evaluation set nor a common phrase."""
    known = [pair for pair in pairs if pair["passage"] in passages]
    n_asked = Counter(normal(pair["question"]) for pair in known)
    counts["pairs mined"] = len(known)
    for pair in known:
        question = normal(pair["question"])
        if question in seen_questions:
            counts["pairs left out: question of an evaluation set"] += 1
        elif n_asked[question] > 3:
            counts["pairs left out: common question"] += 1
        else:
            yield pair


def balanced(pairs: Iterable[Fields], passages: dict[int, Fields], counts: Counter[str]) -> list[Fields]:
    """Return at most so many pairs of each package, and of some kinds at most a share of those."""
    by_package = defaultdict(list)
    for pair in pairs:
        by_package[passages[pair["passage"]]["package"]].append(pair)
    kept: list[Fields] = []
    for package, of_package in sorted(by_package.items()):
        random.Random(package).shuffle(of_package)
        room = min(MOST_OF_PACKAGE, len(of_package))
        n_kept: Counter[str] = Counter()
        chosen = []
        for pair in of_package:
            if len(chosen) < room and n_kept[pair["kind"]] < SHARES.get(pair["kind"], 1) * room:
                n_kept[pair["kind"]] += 1
                chosen.append(pair)
        chosen.sort(key=lambda pair: pair["passage"])
        kept += chosen
    counts["pairs kept"] = len(kept)
    return kept


def cut(ids: list[int], limit: int) -> np.ndarray:
    return np.array(ids if len(ids) <= limit else [*ids[: limit - 1], SEPARATOR], np.uint16)


def tokens_between(offsets: list[tuple[int, int]], start: int, end: int, limit: int) -> tuple[int, int]:
    """Return the tokens that characters lie in; the marks at both ends are none of them."""
    first = next((at for at, (_, last) in enumerate(offsets) if last > start), limit)
    last = next((at for at in range(first, len(offsets)) if offsets[at][0] >= end or not any(offsets[at])), limit)
    return (first, min(last, limit)) if first < min(last, limit) else (0, 0)


def as_asked(pair: Fields, format_: str) -> str:
    """Return a question as people type it: as it stands, as words, with a language, as `how to …`, as `how … works`."""
    question, kind = pair["question"].rstrip(".:"), pair["kind"]
    rng = random.Random(f"{pair['passage']} {question}")
    if kind in {"doc", "module", "comment"}:
        return code_question(without_name(question), format_, rng)
    if kind == "name":
        return rng.choice(
            (
                question,
                question,
                question,
                f"how {question} works",
                f"where is {question} implemented",
                f"{question} implementation",
            )
        )
    if kind in {"head", "lead", "cloze", "option", "example", "purpose", "change"}:
        share = rng.random()
        return (
            question.lower()
            if share < 0.35
            else (keywords(question, rng.choice((4, 5, 6, 7, 8))) or question)
            if share < 0.6
            else question
        )
    return question.lower() if rng.random() < 0.3 else question


def code_question(question: str, format_: str, rng: random.Random) -> str:
    share = rng.random()
    if share < 0.2:
        return question
    if share < 0.32:
        return question.lower()
    command = imperative(question).lower()
    if share < 0.46:
        is_noun = re.match(r"(the|a|an|this|whether|if|is|has|true)\b", command)
        return f"how does {command} work" if is_noun else f"how to {command}"
    short = keywords(command, rng.choice((3, 4, 5, 6, 7))) or command
    if share < 0.62 or (share >= 0.72 and format_ not in ASKED_WITH_LANGUAGE):
        return short
    forms = ABOUT_CODE if share < 0.72 else WITH_LANGUAGE
    return rng.choice(forms).format(short, LANGUAGES.get(format_, format_))


def without_name(question: str) -> str:
    """Return a comment without the name it begins with: of `IsAuto indicates …`, `indicates …`."""
    first, _, rest = question.partition(" ")
    return rest if re.search(r"[a-z][A-Z]|_|\(", first) and len(rest.split()) >= 3 else question


def imperative(question: str) -> str:
    """Return `return the number of …` for `Returns the number of …`."""
    first, *others = question.split()
    word = first.lower()
    if word in VERBS:
        word = VERBS[word]
    elif re.search(r"(sses|shes|ches|xes|zzes)$", word):
        word = word[:-2]
    elif word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif re.search(r"[a-z]{3,}[^su]s$", word):
        word = word[:-1]
    return " ".join([word, *others])


def keywords(question: str, most: int) -> str:
    words = [word for word in re.findall(r"[\w.+#'-]+", question.lower()) if word.strip(".") not in STOP]
    return " ".join(words[:most])


if __name__ == "__main__":
    main()
