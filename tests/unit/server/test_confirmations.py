"""What may be confirmed: only what was shown, once, and soon."""

from __future__ import annotations

import pytest

from directory_indexer.core.errors import ConflictError
from directory_indexer.core.paths import FilePath
from directory_indexer.server.rest.page_operations import VALID_SECONDS, Action, Confirmations

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
    shown = world.confirmations.new(Action.ADD, ROOT)
    assert world.confirmations.use(Action.ADD, shown) == ROOT
    with pytest.raises(ConflictError):
        world.confirmations.use(Action.ADD, shown)


def test_a_confirmation_is_good_for_what_was_shown_alone(world: World) -> None:
    shown = world.confirmations.new(Action.ADD, ROOT)
    with pytest.raises(ConflictError):
        world.confirmations.use(Action.FORGET, shown)


def test_a_confirmation_is_good_for_some_time(world: World) -> None:
    one, other = world.confirmations.new(Action.ADD, ROOT), world.confirmations.new(Action.ADD, ROOT)
    world.now = VALID_SECONDS
    assert world.confirmations.use(Action.ADD, one)
    world.now += 1
    with pytest.raises(ConflictError, match="expired"):
        world.confirmations.use(Action.ADD, other)


def test_those_never_used_do_not_pile_up(world: World) -> None:
    first = world.confirmations.new(Action.ADD, ROOT)
    last = [world.confirmations.new(Action.ADD, ROOT) for _ in range(100)][-1]
    with pytest.raises(ConflictError):
        world.confirmations.use(Action.ADD, first)
    assert world.confirmations.use(Action.ADD, last) == ROOT
