"""Development sets: nDCG@10 by cosine alone, of evaluation sets that were declared for choosing, and of held-out pairs.

    packaging/model/development.py TOKENIZER OUT DATA_DIR=SET[:REPOSITORY] …

writes the sets as tokens. Those declared before anything was measured are `mbpp`, `npl` and `xquad_de`, every other
question of `cosqa`, and every other repository of `semble_code` by name; all else is only reported.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import torch
    from minilm import Encoder
    from tokens import Pairs

ROWS = """SELECT f.path, c.heading, t.text FROM chunks c JOIN files f ON f.id = c.file_id
    JOIN chunk_texts t ON t.id = c.id ORDER BY c.id"""


def main() -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(sys.argv[1])
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    arrays: dict[str, np.ndarray] = {}
    for argument in sys.argv[3:]:
        data_dir, _, name = argument.partition("=")
        set_directory, _, repository = name.partition(":")
        for key, value in arrays_of(Path(data_dir), Path(set_directory), repository, tokenizer).items():
            arrays[f"{Path(set_directory).name}{'.' * bool(repository)}{repository}/{key}"] = value
    np.savez(sys.argv[2], **arrays)


def arrays_of(data_dir: Path, directory: Path, repository: str, tokenizer: Any) -> dict[str, np.ndarray]:
    """Return the chunks and questions of a set, as tokens, and which file is relevant to which question."""
    from directory_indexer.chunking.chunks import text_to_embed
    from directory_indexer.core.paths import FilePath

    database = sqlite3.connect(f"file:{data_dir / 'data.db'}?mode=ro", uri=True)
    corpus = str((directory / "corpus").resolve()) + "/"
    texts, files = [], []
    for path, heading, stored in database.execute(ROWS):
        text = stored if isinstance(stored, str) else zlib.decompress(stored).decode()
        texts.append(text_to_embed(text, heading=heading, path=FilePath(path)))
        files.append(path.removeprefix(corpus))
    number = {file: at for at, file in enumerate(dict.fromkeys(files))}
    grades: dict[str, dict[int, int]] = {}
    for line in (directory / "qrels.tsv").read_text().splitlines():
        id_, file, grade = line.split("\t")
        if int(grade) > 0 and file in number:
            grades.setdefault(id_, {})[number[file]] = int(grade)
    queries = [json.loads(line) for line in (directory / "queries.jsonl").read_text().splitlines()]
    queries = [query for query in queries if query["id"] in grades and query.get("repo", "") == repository]
    judged = [(at, file, grade) for at, query in enumerate(queries) for file, grade in grades[query["id"]].items()]
    chunks = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    questions = [encoding.ids for encoding in tokenizer.encode_batch([query["text"] for query in queries])]
    print(directory.name, repository, len(chunks), len(questions), len(judged), flush=True)
    return {
        "passages": np.concatenate(chunks).astype(np.uint16),
        "passage_lengths": np.array(list(map(len, chunks)), np.uint16),
        "questions": np.concatenate(questions).astype(np.uint16),
        "question_lengths": np.array(list(map(len, questions)), np.uint8),
        "file": np.array([number[file] for file in files], np.int32),
        "judged": np.array(judged, np.int32),
    }


def loaded(arrays: Mapping[str, np.ndarray], device: str) -> Iterator[tuple[str, Any, Any, torch.Tensor, np.ndarray]]:
    """Yield name, questions, passages, file of each passage, and judgements of each set."""
    import torch
    from tokens import Texts

    for name in dict.fromkeys(key.partition("/")[0] for key in arrays):
        part = {
            key: arrays[f"{name}/{key}"]
            for key in ("passages", "passage_lengths", "questions", "question_lengths", "file", "judged")
        }
        questions = Texts.of(part["questions"], part["question_lengths"], device)
        passages = Texts.of(part["passages"], part["passage_lengths"], device)
        yield name, questions, passages, torch.from_numpy(part["file"].astype(np.int64)).to(device), part["judged"]


def of_sets(encoder: Encoder, arrays: Mapping[str, np.ndarray], device: str) -> dict[str, float]:
    """Return nDCG@10 of each set; repositories of one are averaged over their questions, and only `cosqa` is halved."""
    import torch
    from tokens import cosines, embed

    rows: dict[str, list[float]] = {}
    with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        for name, questions, passages, file, judged in loaded(arrays, device):
            question_numbers = torch.arange(len(questions.lengths), device=device)[:: 2 if name == "cosqa" else 1]
            all_passages = torch.arange(len(passages.lengths), device=device)
            scores = cosines(embed(encoder, questions, question_numbers), embed(encoder, passages, all_passages))
            of_files = torch.full((len(question_numbers), int(file.max()) + 1), -2.0, device=device)
            of_files.scatter_reduce_(1, file[None].expand(len(question_numbers), -1), scores, "amax")
            best = of_files.topk(min(10, of_files.shape[1]), dim=1).indices.cpu().tolist()
            rows.setdefault(name.partition(".")[0], []).extend(ndcg(best, question_numbers.cpu().tolist(), judged))
    return {name: float(np.mean(values)) for name, values in rows.items()}


def ndcg(best: list[list[int]], question_numbers: list[int], judged: np.ndarray) -> list[float]:
    """Return nDCG@10 of each question, with linear gain."""
    grades: dict[int, dict[int, int]] = {}
    for question, file, grade in judged.tolist():
        grades.setdefault(question, {})[file] = grade
    discount = 1 / np.log2(np.arange(2, 12))
    values = []
    for row, question in zip(best, question_numbers, strict=True):
        of = grades[question]
        ideal = sum(grade * weight for grade, weight in zip(sorted(of.values(), reverse=True), discount, strict=False))
        values.append(sum(of.get(file, 0) * weight for file, weight in zip(row, discount, strict=False)) / ideal)
    return values


def of_pairs(encoder: Encoder, pairs: Pairs, device: str, *, most: int = 4000) -> float:
    """Return nDCG@10 of held-out pairs, whose only relevant passage among all is their own."""
    import torch
    from tokens import cosines, embed

    which = torch.arange(0, len(pairs.kind), max(1, len(pairs.kind) // most), device=device)
    passages = torch.arange(len(pairs.passages.lengths), device=device)
    with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        scores = cosines(embed(encoder, pairs.questions, which), embed(encoder, pairs.passages, passages))
    rank = (scores > scores.gather(1, pairs.passage[which][:, None])).sum(1)
    return float(torch.where(rank < 10, 1 / torch.log2(rank + 2.0), 0.0).mean())


if __name__ == "__main__":
    main()
