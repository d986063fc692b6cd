"""What may be confirmed: only what was shown, once, and soon."""

from __future__ import annotations

import pytest

from directory_indexer.errors import ConflictError
from directory_indexer.paths import FilePath
from directory_indexer.server.api.confirmations import VALID_SECONDS, Act, Confirmations

ROOT = FilePath("/docs")


class World:
    """Confirmations, and a clock that stands still."""

    def __init__(self) -> None:
        self.now = 0.0
        self.confirmations = Confirmations(clock=lambda: self.now)


@pytest.fixture
def world() -> World:
    return World()


def test_what_was_shown_may_be_confirmed_once(world: World) -> None:
    shown = world.confirmations.new(Act.ADD, ROOT)
    assert world.confirmations.use(Act.ADD, shown) == ROOT
    with pytest.raises(ConflictError):
        world.confirmations.use(Act.ADD, shown)


def test_a_confirmation_is_good_for_what_was_shown_alone(world: World) -> None:
    shown = world.confirmations.new(Act.ADD, ROOT)
    with pytest.raises(ConflictError):
        world.confirmations.use(Act.FORGET, shown)


def test_a_confirmation_is_good_for_some_time(world: World) -> None:
    one, other = world.confirmations.new(Act.ADD, ROOT), world.confirmations.new(Act.ADD, ROOT)
    world.now = VALID_SECONDS
    assert world.confirmations.use(Act.ADD, one)
    world.now += 1
    with pytest.raises(ConflictError, match="expired"):
        world.confirmations.use(Act.ADD, other)


def test_those_never_used_do_not_pile_up(world: World) -> None:
    first = world.confirmations.new(Act.ADD, ROOT)
    last = [world.confirmations.new(Act.ADD, ROOT) for _ in range(100)][-1]
    with pytest.raises(ConflictError):
        world.confirmations.use(Act.ADD, first)
    assert world.confirmations.use(Act.ADD, last) == ROOT
