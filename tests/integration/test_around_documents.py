"""What lies around documents that were sent, as the API tells it: what is being deleted is gone for everybody."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from teams import Team

from directory_indexer.errors import NotIndexedError
from directory_indexer.lock import write_lock
from directory_indexer.server.api.arguments import SimilarCall
from directory_indexer.server.api.directory_arguments import NeighboursCall
from directory_indexer.server.api.documents import DocumentIds
from directory_indexer.server.api.neighbours import neighbours
from directory_indexer.server.api.previews import similar
from directory_indexer.team.sending import Wait

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from directory_indexer.server.api.operations import Services


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    team = Team(tmp_path / "data")
    yield team
    team.close()


def test_what_is_being_deleted_is_near_nothing_and_has_no_neighbours(team: Team) -> None:
    services = cast(
        "Services",
        SimpleNamespace(collections=team.collections, documents=team.verbs, document_ids=DocumentIds()),
    )
    one, other = (
        team.add(f"The heron waits in shallow {water}.", filename=f"{water}.md", wait=Wait.COMPLETE).document.doc_id
        for water in ("water", "waters")
    )
    [hit] = similar(services, SimilarCall(one)).hits
    assert (hit.doc_id, hit.filename) == (other, "waters.md")
    assert [found.doc_id for found in neighbours(services, NeighboursCall(one)).neighbours] == [other]
    with write_lock(team.app.lock_path, wait=False):
        assert not team.verbs.delete("default", other, seconds=0)
        assert similar(services, SimilarCall(one)).hits == ()
        assert neighbours(services, NeighboursCall(one)).neighbours == ()
        with pytest.raises(NotIndexedError, match="no document"):
            neighbours(services, NeighboursCall(other))
