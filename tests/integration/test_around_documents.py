"""Documents that were sent as the page shows them, and what lies around them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from teams import Team

from directory_indexer.collections.ingest import WaitUntil
from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.lock import write_lock
from directory_indexer.server.rest.arguments import NeighboursCall, PreviewCall, SimilarCall
from directory_indexer.server.rest.documents import DocumentIds
from directory_indexer.server.rest.previews import preview, similar
from directory_indexer.server.rest.search import neighbours

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from directory_indexer.server.rest import Services


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    team = Team(tmp_path / "data")
    yield team
    team.close()


def services_of(team: Team) -> Services:
    taking_apart = SimpleNamespace(ask=lambda _: None)
    return cast(
        "Services",
        SimpleNamespace(
            collections=team.collections,
            documents=team.verbs,
            document_ids=DocumentIds(),
            previews=SimpleNamespace(taking_apart=taking_apart),
        ),
    )


def test_a_preview_has_bounds_however_long_a_line_is(team: Team) -> None:
    line = "heron " * 60_000
    sent = team.add(f"first\n{line}\nlast", filename="one.txt")
    found = preview(services_of(team), PreviewCall(sent.document.doc_id, query="heron", line=2))
    assert (found.start_line, found.end_line, found.total_lines) == (2, 2, 3)
    assert found.text == line[:300_000]
    assert len(found.marks) == 50_000


def test_what_is_being_deleted_is_near_nothing_and_has_no_neighbours(team: Team) -> None:
    services = services_of(team)
    one, other = (
        team.add(
            f"The heron waits in shallow {water}.", filename=f"{water}.md", wait=WaitUntil.COMPLETE
        ).document.doc_id
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
