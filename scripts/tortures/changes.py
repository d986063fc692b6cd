"""Changes a tree by chance, indexes it, and compares with a fresh index, again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tortures.workbench import compare_with_fresh, mutate, plant

if TYPE_CHECKING:
    from tortures.workbench import Torture


def changes(torture: Torture) -> str:
    """Run `size` rounds of some changes each, or as many as time allows."""
    root = torture.place / "tree"
    plant(root)
    n_changes = n_rounds = 0
    while n_rounds < torture.size and not torture.is_over and not torture.failures:
        done = [mutate(root, torture.chance) for _ in range(torture.chance.randint(1, 25))]
        n_changes, n_rounds = n_changes + len(done), n_rounds + 1
        compare_with_fresh(torture, torture.place / "index", root, f"round {n_rounds} after {', '.join(done)}")
    return f"{n_changes} changes in {n_rounds} rounds, each compared with a fresh index"
