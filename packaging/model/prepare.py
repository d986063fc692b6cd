"""Mined pairs as tokens to train on: without what stands in evaluation sets, without duplicates, balanced by package.

    packaging/model/prepare.py MINED TOKENIZER OUT HELD_OUT,… EVALUATION_SET…

Writes `OUT/train.npz` and `OUT/dev.npz` (the packages that are held out), and counts to `OUT/counts.json`. Arrays of one
file: `passages` and `questions` are tokens one after the other with `passage_lengths` and `question_lengths`; of each
pair `passage`, `kind`, `package`, `file`, and `start` to `end`, the tokens of the passage that the question repeats.
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
KINDS = "doc module comment name error head faq lead cloze option example purpose change".split()
LANGUAGES = {"golang-1.19": "golang", "c_sharp": "c#", "cpp": "c++", "go": "golang"}
ASKED_WITH_LANGUAGE = frozenset("python javascript typescript go rust java c cpp ruby php kotlin".split())
STOP = frozenset(
    "a an the of to in on for with and or is are be as by from at it its this that these those into if given using will can "
    "which when used not whether than then your you we our all any their so e.g i.e".split()
)
VERBS = {"does": "do", "is": "is", "this": "this", "has": "has", "process": "process", "pass": "pass", "its": "its", "class": "class"}


def main() -> None:
    mined, tokenizer_file, out = map(Path, sys.argv[1:4])
    held_out = set(sys.argv[4].split(","))
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    counts: Counter[str] = Counter()
    passages = {fields["id"]: fields for fields in rows(mined / "passages.jsonl")}
    lines, asked = evaluation_texts(map(Path, sys.argv[5:]))
    leave_out_leaks(passages, lines, counts)
    pairs = balanced(usable(rows(mined / "pairs.jsonl"), passages, asked, counts), passages, counts)
    out.mkdir(parents=True, exist_ok=True)
    for name in ("dev", "train"):
        chosen = [pair for pair in pairs if (passages[pair["passage"]]["package"] in held_out) == (name == "dev")]
        np.savez(out / f"{name}.npz", **arrays(chosen, passages, tokenizer, counts, name))
    (out / "counts.json").write_text(json.dumps(counts, indent=1, sort_keys=True))


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
    asked: set[str] = set()
    for directory in sets:
        asked |= {normal(query["text"]) for query in rows(directory / "queries.jsonl")}
        for file in (directory / "corpus").rglob("*"):
            if file.is_file() and file.stat().st_size < 2_000_000:
                lines.update(long_lines(file.read_text(errors="replace")))
    return lines, asked


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


def usable(pairs: Iterable[Fields], passages: dict[int, Fields], asked: set[str], counts: Counter[str]) -> Iterator[Fields]:
    """Yield pairs whose question is neither of an evaluation set nor a common phrase."""
    known = [pair for pair in pairs if pair["passage"] in passages]
    n_asked = Counter(normal(pair["question"]) for pair in known)
    counts["pairs mined"] = len(known)
    for pair in known:
        question = normal(pair["question"])
        if question in asked:
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


def arrays(pairs: list[Fields], passages: dict[int, Fields], tokenizer: Tokenizer, counts: Counter[str], name: str) -> Fields:
    """Return all that is trained on as arrays."""
    ids = list(dict.fromkeys(pair["passage"] for pair in pairs))
    number = {id_: at for at, id_ in enumerate(ids)}
    packages, files = ({} for _ in range(2))
    spans = defaultdict(list)
    for at, pair in enumerate(pairs):
        spans[number[pair["passage"]]].append(at)
    places = np.zeros((len(pairs), 2), np.uint16)
    tokens, lengths = [], np.empty(len(ids), np.uint16)
    for first in range(0, len(ids), 4000):
        encoded = tokenizer.encode_batch([passages[id_]["text"] for id_ in ids[first : first + 4000]])
        for at, one in enumerate(encoded, first):
            tokens.append(cut(one.ids, PASSAGE_TOKENS))
            lengths[at] = len(tokens[-1])
            for pair_at in spans[at]:
                pair = pairs[pair_at]
                if pair["start"] >= 0:
                    places[pair_at] = tokens_between(one.offsets, pair["start"], pair["end"], int(lengths[at]) - 1)
    questions = [as_asked(pair, passages[pair["passage"]]["format"]) for pair in pairs]
    asked = [cut(one.ids, QUESTION_TOKENS) for one in tokenizer.encode_batch(questions)]
    for pair in pairs:
        passage = passages[pair["passage"]]
        counts.update([f"{name} kind {pair['kind']}", f"{name} format {passage['format']}", f"{name} package {passage['package']}"])
    counts.update({f"{name} passages": len(ids), f"{name} pairs": len(pairs), f"{name} passage tokens": int(lengths.sum(dtype=np.int64))})
    of = [passages[pair["passage"]] for pair in pairs]
    for question, pair in random.Random(1).sample(list(zip(questions, pairs, strict=True)), min(30, len(pairs))):
        print(pair["kind"], "|", question, "|", passages[pair["passage"]]["text"][:160].replace("\n", "\\n"), flush=True)
    return {
        "passages": np.concatenate(tokens),
        "passage_lengths": lengths,
        "questions": np.concatenate(asked),
        "question_lengths": np.array([len(one) for one in asked], np.uint8),
        "passage": np.array([number[pair["passage"]] for pair in pairs], np.int32),
        "kind": np.array([KINDS.index(pair["kind"]) for pair in pairs], np.uint8),
        "package": np.array([packages.setdefault(one["package"], len(packages)) for one in of], np.uint8),
        "file": np.array([files.setdefault((one["package"], one["file"]), len(files)) for one in of], np.int32),
        "places": places,
    }


def cut(ids: list[int], limit: int) -> np.ndarray:
    return np.array(ids if len(ids) <= limit else [*ids[: limit - 1], SEPARATOR], np.uint16)


def tokens_between(offsets: list[tuple[int, int]], start: int, end: int, limit: int) -> tuple[int, int]:
    """Return the tokens that characters lie in; the marks at both ends are none of them."""
    within = [at for at, (first, last) in enumerate(offsets) if last > first and first < end and last > start and at < limit]
    return (within[0], within[-1] + 1) if within else (0, 0)


def as_asked(pair: Fields, format_: str) -> str:
    """Return a question as people type it: as it stands, as words, with a language, as `how to …`, as `how … works`."""
    question, kind = pair["question"].rstrip(".:"), pair["kind"]
    rng = random.Random(f"{pair['passage']} {question}")
    if kind in {"doc", "module", "comment"}:
        return code_question(without_name(question), format_, rng)
    if kind == "name":
        return rng.choice((question, question, question, f"how {question} works", f"where is {question} implemented", f"{question} implementation"))
    if kind in {"head", "lead", "cloze", "option", "example", "purpose", "change"}:
        share = rng.random()
        return question.lower() if share < 0.35 else (keywords(question, rng.choice((4, 5, 6, 7, 8))) or question) if share < 0.6 else question
    return question.lower() if rng.random() < 0.3 else question


def code_question(question: str, format_: str, rng: random.Random) -> str:
    share = rng.random()
    if share < 0.2:
        return question
    if share < 0.32:
        return question.lower()
    command = imperative(question).lower()
    if share < 0.46:
        return f"how to {command}" if not re.match(r"(the|a|an|this|whether|if|is|has|true)\b", command) else f"how does {command} work"
    short = keywords(command, rng.choice((3, 4, 5, 6, 7))) or command
    if share < 0.62:
        return short
    if share < 0.72:
        return rng.choice((f"how {short} works", f"where is {short}", f"{short} handling", f"{short} implementation", f"code that {short}"))
    language = LANGUAGES.get(format_, format_)
    if format_ not in ASKED_WITH_LANGUAGE:
        return short
    return rng.choice((f"{language} {short}", f"{language} {short}", f"{short} in {language}", f"{short} {language}", f"{language} how to {short}", f"how to {short} in {language}"))


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
