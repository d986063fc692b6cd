"""The embedding model, trained on pairs: contrastive, with neighbours in the same file as hard negatives.

It is kept near the published model: prose in many languages keeps its vectors, and the result is a mean of both.
Schedules follow the clock, so that a run on a GPU ends when it must.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from minilm import Encoder, freeze
from tokens import cosines, embed
from torch.nn import functional

if TYPE_CHECKING:
    from minilm import Weights
    from tokens import Pairs, Texts
    from torch import Tensor

WARM_UP = 0.06
SEPARATOR = 102
GROUP = 4
LOOKS = (25, 50, 100, 200, 400, 800)


class Recipe(NamedTuple):
    """The recipe of a run.

    `left_out` is the share of passages from which the sentence that is asked is taken, `anchor` the weight of prose
    that keeps its vectors, `distil` that of the published model's own order of the passages of a batch. `kinds` are
    those of pairs to learn from, by number; `steps` end a run in place of the clock.
    """

    seconds: float
    rate: float = 1e-4
    batch: int = 1024
    temperature: float = 0.05
    left_out: float = 0.35
    anchor: float = 3.0
    distil: float = 0.0
    backward: float = 0.2
    kinds: tuple[int, ...] = ()
    limit: int = 256
    seed: int = 1
    steps: int = 0


class Watch(NamedTuple):
    """The observers of a run: lines for a log, and the weights after some numbers of steps."""

    say: Callable[[str], None] = print
    look: Callable[[Weights, int], object] | None = None

    def step(self, model: Encoder, losses: list[Tensor], n_steps: int) -> None:
        if self.look and n_steps in LOOKS:
            self.look(model.weights(), n_steps)
        if n_steps % 50 == 0 or n_steps == 1:
            mean = [round(value, 4) for value in torch.stack(losses[-50:]).mean(0).tolist()]
            self.say(f"{n_steps} steps, loss {mean}")


def train(weights: Weights, pairs: Pairs, prose: Texts, recipe: Recipe, watch: Watch) -> Weights:
    """Return the weights after a run on the device that the pairs are on."""
    device = pairs.passage.device.type
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    model, published = Encoder().read(weights).to(device), Encoder().read(weights).to(device).requires_grad_(False)
    freeze(model)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=recipe.rate, weight_decay=0.01, betas=(0.9, 0.98))
    groups = groups_of(pairs, recipe)
    start, n_steps, order = time.monotonic(), 0, np.empty(0, np.int64)
    losses: list[Tensor] = []
    while (part := progress(start, n_steps, recipe)) < 1:
        if len(order) < recipe.batch // GROUP:
            order = rng.permutation(len(groups))
        taken, order = order[: recipe.batch // GROUP], order[recipe.batch // GROUP :]
        which = torch.from_numpy(groups[taken].ravel()).to(device)
        optimizer.param_groups[0]["lr"] = recipe.rate * rate_at(part)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = loss_of(model, published, pairs, prose, which, recipe)
        optimizer.zero_grad(set_to_none=True)
        loss.sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
        n_steps += 1
        watch.step(model, losses, n_steps)
    n_passes = n_steps * recipe.batch / groups.size
    watch.say(f"ended after {n_steps} steps, {n_passes:.2f} passes, {time.monotonic() - start:.0f} s")
    return model.weights()


def rate_at(part: float) -> float:
    """Return the share of the learning rate: it rises, then falls to nothing."""
    return min(1.0, part / WARM_UP + 0.01) * (1 - max(0.0, (part - WARM_UP) / (1 - WARM_UP)))


def progress(start: float, n_steps: int, recipe: Recipe) -> float:
    return n_steps / recipe.steps if recipe.steps else (time.monotonic() - start) / recipe.seconds


def groups_of(pairs: Pairs, recipe: Recipe) -> np.ndarray:
    """Return pairs that stand beside each other in files, four at a time: they are hard negatives of one another."""
    which = np.arange(len(pairs.kind))
    if recipe.kinds:
        which = which[np.isin(pairs.kind, recipe.kinds)]
    rng = np.random.default_rng(recipe.seed)
    which = which[rng.integers(GROUP) :]
    return which[: len(which) // GROUP * GROUP].reshape(-1, GROUP)


def loss_of(model: Encoder, published: Encoder, pairs: Pairs, prose: Texts, which: Tensor, recipe: Recipe) -> Tensor:
    """Return the parts of the loss: of the questions, of the passages, of the anchor, of the published order."""
    passage = pairs.passage[which]
    left_out = pairs.places[which] * (torch.rand(len(which), 1, device=which.device) < recipe.left_out)
    questions = embed(model, pairs.questions, which)
    passages = embed(model, pairs.passages, passage, left_out=left_out, limit=recipe.limit)
    scores = cosines(questions, passages) / recipe.temperature
    is_same = (passage[:, None] == passage[None]) | are_alike(pairs.questions, which)
    is_same.fill_diagonal_(False)
    masked = scores.masked_fill(is_same, -1e4)
    target = torch.arange(len(which), device=which.device)
    parts = [functional.cross_entropy(masked, target), recipe.backward * functional.cross_entropy(masked.T, target)]
    if recipe.anchor:
        chosen = torch.randint(len(prose.lengths), (max(4, len(which) // 8),), device=which.device)
        with torch.no_grad():
            before = embed(published, prose, chosen, limit=128)
        parts.append(recipe.anchor * 10 * (1 - (embed(model, prose, chosen, limit=128) * before).sum(1)).mean())
    if recipe.distil:
        with torch.no_grad():
            old = cosines(
                embed(published, pairs.questions, which),
                embed(published, pairs.passages, passage, left_out=left_out, limit=recipe.limit),
            )
        parts.append(
            recipe.distil
            * functional.kl_div(
                torch.log_softmax(scores, 1), torch.softmax(old / recipe.temperature, 1), reduction="batchmean"
            )
        )
    return torch.stack(parts)


def are_alike(questions: Texts, which: Tensor, width: int = 2048) -> Tensor:
    """Whether two questions share at least 60 % of their words: neither's passage is then a negative of the other."""
    ids, is_token = questions.rows(which, None, 48)
    bags = torch.zeros(len(which), width, device=which.device, dtype=torch.float32)
    bags.scatter_(1, ids % width, (is_token & (ids > SEPARATOR)).float())  # 101 and 102 are in all of them
    shared = bags @ bags.T
    n_words = bags.sum(1)
    return shared / (n_words[:, None] + n_words[None] - shared).clamp(min=1) >= 0.6


def between(
    published: dict[str, np.ndarray], trained: list[dict[str, np.ndarray]], factor: float
) -> dict[str, np.ndarray]:
    """Return weights that lie a part of the way from the published ones to the mean of those that were trained."""
    return {
        name: value + factor * (np.mean([parameters[name] for parameters in trained], axis=0) - value)
        for name, value in published.items()
    }
