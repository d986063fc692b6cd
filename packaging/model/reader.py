"""The reader: a cross-encoder of question and passage, trained on passages that a search takes for right.

It has two outputs: how much better a passage is than its cosine says, and whether it answers at all.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from development import loaded
from development import ndcg as ndcg_of
from minilm import WIDTH, Encoder, freeze
from tokens import by_length, cosines, embed
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minilm import Weights
    from tokens import Pairs, Texts

QUESTION_LIMIT = 40


class Reader(nn.Module):
    """An encoder of both texts, of which the mean of the last hidden states is weighed."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head = Encoder(), nn.Linear(WIDTH, 2)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, is_token: Tensor, types: Tensor) -> Tensor:
        return self.head(self.encoder.mean(ids, is_token, types))

    def read(self, weights: Mapping[str, np.ndarray]) -> Reader:
        self.encoder.read(weights)
        if "head.weight" in weights:
            with torch.no_grad():
                self.head.weight.copy_(torch.from_numpy(weights["head.weight"]))
                self.head.bias.copy_(torch.from_numpy(weights["head.bias"]))
        return self

    def weights(self) -> dict[str, np.ndarray]:
        head = {f"head.{name}": value.detach().float().cpu().numpy() for name, value in self.head.named_parameters()}
        return self.encoder.weights() | head


class Recipe(NamedTuple):
    """The recipe of a run; each question is read with its own passage and `n_others` that a search finds."""

    seconds: float
    rate: float = 1.5e-4
    questions: int = 192
    n_others: int = 5
    left_out: float = 0.9
    scale: float = 0.05
    limit: int = 200
    seed: int = 1
    steps: int = 0


class Asked(NamedTuple):
    """Questions and passages beside each other, by their numbers, and the tokens to leave out of each passage."""

    questions: Texts
    passages: Texts
    question: Tensor
    passage: Tensor
    left_out: Tensor | None = None


def judged(reader: Reader, questions: Asked, limit: int) -> Tensor:
    """Return both outputs for each question with the passage beside it."""
    question_lengths = questions.questions.lengths[questions.question].clamp(max=QUESTION_LIMIT)

    def outputs(part: Tensor) -> Tensor:
        left_out = None if questions.left_out is None else questions.left_out[part]
        question, is_question = questions.questions.rows(questions.question[part], None, QUESTION_LIMIT)
        passage, is_passage = questions.passages.rows(questions.passage[part], left_out, limit)
        is_passage[:, 0] = False  # the mark that a text begins with
        types = torch.cat([torch.zeros_like(question), torch.ones_like(passage)], 1)
        ids, is_token, types = packed(torch.cat([question, passage], 1), torch.cat([is_question, is_passage], 1), types)
        return reader(ids, is_token, types)

    return by_length(question_lengths + questions.passages.lengths[questions.passage].clamp(max=limit), outputs)


def packed(ids: Tensor, is_token: Tensor, types: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Move tokens to the left, so that their places are those they have without padding."""
    order = torch.argsort((~is_token).to(torch.uint8), dim=1, stable=True)
    width = -(-int(is_token.sum(1).max()) // 16) * 16
    order = order[:, :width]
    return ids.gather(1, order), is_token.gather(1, order), types.gather(1, order)


def neighbours(
    encoder: Encoder, pairs: Pairs, device: str, *, most: int = 24, chunk: int = 2048
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the passages nearest to each question with their cosines, and the cosine of the question's own passage."""
    with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        passages = embed(encoder, pairs.passages, torch.arange(len(pairs.passages.lengths), device=device)).to(
            torch.bfloat16
        )
        nearest, cosines, own = [], [], []
        for first in range(0, len(pairs.kind), chunk):
            which = torch.arange(first, min(first + chunk, len(pairs.kind)), device=device)
            questions = embed(encoder, pairs.questions, which).to(torch.bfloat16)
            best = (questions @ passages.T).float().topk(most, dim=1)
            nearest.append(best.indices)
            cosines.append(best.values)
            own.append((questions.float() * passages[pairs.passage[which]].float()).sum(1))
    return torch.cat(nearest), torch.cat(cosines), torch.cat(own)


def train(weights: Weights, embedder: Encoder, pairs: Pairs, recipe: Recipe, say: Callable[[str], None]) -> Weights:
    """Return the weights after a run; the first weights are those of the embedding model."""
    device = pairs.passage.device.type
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    nearest, cosines, own = neighbours(embedder, pairs, device)
    say("neighbours found")
    reader = Reader().read(weights).to(device)
    freeze(reader.encoder)
    body = [parameter for parameter in reader.encoder.parameters() if parameter.requires_grad]
    groups = [{"params": body, "lr": recipe.rate}, {"params": reader.head.parameters(), "lr": 10 * recipe.rate}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, betas=(0.9, 0.98))
    rates = [group["lr"] for group in optimizer.param_groups]
    start, n_steps, order, seen = time.monotonic(), 0, np.empty(0, np.int64), []
    while (part := n_steps / recipe.steps if recipe.steps else (time.monotonic() - start) / recipe.seconds) < 1:
        if len(order) < recipe.questions:
            order = rng.permutation(len(pairs.kind))
        which, order = torch.from_numpy(order[: recipe.questions]).to(device), order[recipe.questions :]
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * min(1.0, part / 0.06 + 0.01) * (1 - max(0.0, (part - 0.06) / 0.94))
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            losses = losses_of(reader, pairs, which, (nearest[which], cosines[which], own[which]), recipe)
        optimizer.zero_grad(set_to_none=True)
        losses[:2].sum().backward()
        torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        seen.append(losses.detach())
        n_steps += 1
        if n_steps % 50 == 0 or n_steps == 1:
            say(f"reader {n_steps} steps, {time.monotonic() - start:.0f} s, {torch.stack(seen[-50:]).mean(0).tolist()}")
    say(f"reader ended after {n_steps} steps, {n_steps * recipe.questions} questions, {time.monotonic() - start:.0f} s")
    return reader.weights()


def a_pair_of_each(pairs: Pairs) -> Tensor:
    """Return a pair of each passage, by chance."""
    order = torch.randperm(len(pairs.passage), device=pairs.passage.device)
    pair = torch.zeros(len(pairs.passages.lengths), dtype=torch.int64, device=order.device)
    pair[pairs.passage[order]] = order
    return pair


def losses_of(
    reader: Reader, pairs: Pairs, which: Tensor, near: tuple[Tensor, Tensor, Tensor], recipe: Recipe
) -> Tensor:
    """Return the losses of order and judgement, and how often the right passage is first, then and before."""
    nearest, cosines, own = near
    device, n = which.device, len(which)
    passage = pairs.passage[which]
    pick = torch.rand(nearest.shape, device=device) + (nearest == passage[:, None]) * 9
    chosen = pick.argsort(1)[:, : recipe.n_others - 1]
    others, closeness = nearest.gather(1, chosen), cosines.gather(1, chosen)
    strange = passage[torch.randperm(n, device=device)]
    read = torch.cat([passage[:, None], others, strange[:, None]], 1)
    places = pairs.places[a_pair_of_each(pairs)[read]]
    places[:, 0] = pairs.places[which]
    # Of all passages alike: else the reader learns that a passage with a gap is the right one, and nothing more.
    left_out = places * (torch.rand(*read.shape, 1, device=device) < recipe.left_out)
    question_numbers = which[:, None].expand_as(read).reshape(-1)
    beside = Asked(pairs.questions, pairs.passages, question_numbers, read.reshape(-1), left_out.reshape(-1, 2))
    outputs = judged(reader, beside, recipe.limit)
    outputs = outputs.float().view(n, -1, 2)
    prior = torch.cat([own[:, None], closeness], 1) / recipe.scale
    scores = outputs[:, :-1, 0] + prior.detach()
    target = torch.zeros(n, dtype=torch.int64, device=device)
    answers = torch.zeros_like(outputs[:, :, 1])
    answers[:, 0] = 1
    weight = torch.ones_like(answers)
    weight[:, 0] = 2
    order = functional.cross_entropy(scores, target)
    judgement = functional.binary_cross_entropy_with_logits(outputs[:, :, 1], answers, weight)
    right = (scores.argmax(1) == 0).float().mean()
    before = (prior.argmax(1) == 0).float().mean()
    return torch.stack([order, judgement, right, before])


def of_sets(
    reader: Reader, encoder: Encoder, arrays: Mapping[str, np.ndarray], device: str, *, most: int = 20
) -> dict[str, dict[str, float]]:
    """Return nDCG@10 of each set when the passages nearest to a question are ordered by cosine and reader together.

    Names are the weights of the reader beside a cosine over .05; `only` is the reader alone.
    """
    rows: dict[str, dict[str, list[float]]] = {}
    with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        for name, questions, passages, file, judgements in loaded(arrays, device):
            question_numbers = torch.arange(len(questions.lengths), device=device)[:: 2 if name == "cosqa" else 1]
            every = torch.arange(len(passages.lengths), device=device)
            scores = cosines(embed(encoder, questions, question_numbers), embed(encoder, passages, every))
            best = scores.topk(min(most, scores.shape[1]), dim=1)
            n = best.indices.shape[1]
            beside = Asked(questions, passages, question_numbers.repeat_interleave(n), best.indices.reshape(-1))
            outputs = judged(reader, beside, 200)
            outputs = outputs.float().view(len(question_numbers), n, 2)
            cosine = best.values / 0.05
            ways = {"0": cosine, "only": outputs[..., 0], "answers": outputs[..., 1]}
            ways |= {f"{weight}": cosine + weight * outputs[..., 0] for weight in (0.25, 0.5, 1.0, 2.0)}
            ways |= {f"answers {weight}": cosine + weight * outputs[..., 1] for weight in (0.5, 1.0)}
            for way, value in ways.items():
                order = best.indices.gather(1, value.argsort(1, descending=True))
                files = [list(dict.fromkeys(row))[:10] for row in file[order].cpu().tolist()]
                values = ndcg_of(files, question_numbers.cpu().tolist(), judgements)
                rows.setdefault(name.partition(".")[0], {}).setdefault(way, []).extend(values)
    return {name: {way: float(np.mean(values)) for way, values in ways.items()} for name, ways in rows.items()}
