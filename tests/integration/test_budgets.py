"""The answers of all tools to assistants, each within its budget of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from served import Served
from teams import Team
from trees import plant

from directory_indexer.api.runs import run_of
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.server.mcp import Budgets, count_json_tokens, record_to_object
from directory_indexer.server.mcp.index_tool import index_answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from directory_indexer.storage.documents.runs import Outcome

N_FILES = 60
LOUD = "".join(f'def walk_{at}(heron):\n    """Walk {at}."""\n    return walk(heron, {at})\n\n\n' for at in range(300))


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    place = tmp_path_factory.mktemp("place")
    tree: dict[str, str | bytes] = {
        "loud.py": f"def walk(heron, at):\n    return heron.walk(at)\n\n\n{LOUD}",
        "loud.md": "".join(f"# Walk {at}\n\nThe heron does walk {at} in shallow water.\n\n" for at in range(300)),
        "line.txt": "walk of a heron " * 4000,
        **{f"part {at}/walk {at}.md": f"# Walk {at}\n\nThe heron does walk {at}.\n" for at in range(N_FILES)},
    }
    docs = plant(place / "docs", tree)
    team = Team(place / "data")

    def goes_on() -> Outcome | None:
        return None

    directories = [str(docs), *(str(plant(place / f"tracked {at}", {"heron.md": "A heron."})) for at in range(N_FILES))]
    team.app.runs.indexer.index(directories, options=IndexOptions(), listener=lambda _: None, stop_reason=goes_on)
    for at in range(N_FILES):
        team.collections.create(f"collection-of-herons-and-other-birds-{at}")
    yield team
    team.close()


@pytest.fixture(scope="module")
def served(team: Team) -> Iterator[Served]:
    with Served(team) as served:
        yield served


@pytest.mark.parametrize("max_tokens", [2 * Budgets.LEAST, 1000, Budgets.MOST])  # a hit in a long path needs some
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("search", {"query": "walk", "limit": 50}),
        ("search", {"query": "walk", "limit": 50, "mode": "keyword", "all": True}),
        ("search", {"query": "walk", "facets": True}),
        ("grep", {"pattern": "walk"}),
        ("grep", {"pattern": "walk", "context": 20}),
        ("symbol", {"name": "walk", "levels": 3}),
        ("locate", {"report": "walk(heron, 7) fails in loud.py, see loud.md"}),
        ("outline", {"path": "loud.md"}),
        ("outline", {"path": "docs"}),
        ("get_content", {"path": "loud.py"}),
        ("get_content", {"path": "line.txt"}),
        ("get_content", {"path": "docs"}),
        ("similar_files", {"path": "loud.md", "limit": 50}),
        ("convert_to_text", {"source": "loud.md"}),
    ],
    ids=str,
)
def test_an_answer_keeps_to_the_tokens_that_are_asked_for(
    served: Served, team: Team, tool: str, given: dict[str, Any], max_tokens: int
) -> None:
    given = {name: str(team.data_dir.parent / "docs") if value == "docs" else value for name, value in given.items()}
    if tool == "convert_to_text":
        given["source"] = str(team.data_dir.parent / "docs/loud.md")
    text, structure = served.call(tool, {**given, "max_tokens": max_tokens})
    assert count_json_tokens(text) <= max_tokens
    assert count_json_tokens(structure) <= max_tokens


def test_what_is_said_of_a_server_keeps_to_its_budget(served: Served) -> None:
    text, structure = served.call("server_info", {})
    assert count_json_tokens(text) <= Budgets.INFO
    assert count_json_tokens(structure) <= Budgets.INFO
    assert "Nothing is indexed" not in text
    assert len(structure["directories"]) + structure["left_out"] == N_FILES + 1
    assert len(structure["collections"]) + structure["collections_left_out"] == N_FILES
    assert structure["directories"]
    assert structure["collections"]


def test_what_is_said_of_a_run_over_many_directories_keeps_to_its_budget(team: Team) -> None:
    with team.app.docstore.snapshot() as snapshot:
        (record,) = snapshot.runs.latest(1)
    answer = index_answer(run_of(record, goes_on=False))
    run = record_to_object(answer.result)
    assert count_json_tokens(run) <= Budgets.RUN
    assert count_json_tokens(answer.text) <= Budgets.RUN
    assert (run["directories"] and len(run["directories"]) + run["left_out"]) == N_FILES + 1
    assert f"and {run['left_out']} more" in answer.text
