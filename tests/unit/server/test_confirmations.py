"""What may be confirmed: only what was shown, once, and soon."""

from __future__ import annotations

import pytest

from directory_indexer.core.errors import ConflictError
from directory_indexer.core.paths import FilePath
from directory_indexer.server.rest.page_operations import CONFIRMATION_SECONDS, Confirmations, ConfirmedAction

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
    shown = world.confirmations.issue(ConfirmedAction.ADD, ROOT)
    assert world.confirmations.redeem(ConfirmedAction.ADD, shown) == ROOT
    with pytest.raises(ConflictError):
        world.confirmations.redeem(ConfirmedAction.ADD, shown)


def test_a_confirmation_is_good_for_what_was_shown_alone(world: World) -> None:
    shown = world.confirmations.issue(ConfirmedAction.ADD, ROOT)
    with pytest.raises(ConflictError):
        world.confirmations.redeem(ConfirmedAction.FORGET, shown)


def test_a_confirmation_is_good_for_some_time(world: World) -> None:
    one, other = (
        world.confirmations.issue(ConfirmedAction.ADD, ROOT),
        world.confirmations.issue(ConfirmedAction.ADD, ROOT),
    )
    world.now = CONFIRMATION_SECONDS
    assert world.confirmations.redeem(ConfirmedAction.ADD, one)
    world.now += 1
    with pytest.raises(ConflictError, match="expired"):
        world.confirmations.redeem(ConfirmedAction.ADD, other)


def test_those_never_used_do_not_pile_up(world: World) -> None:
    first = world.confirmations.issue(ConfirmedAction.ADD, ROOT)
    last = [world.confirmations.issue(ConfirmedAction.ADD, ROOT) for _ in range(100)][-1]
    with pytest.raises(ConflictError):
        world.confirmations.redeem(ConfirmedAction.ADD, first)
    assert world.confirmations.redeem(ConfirmedAction.ADD, last) == ROOT
