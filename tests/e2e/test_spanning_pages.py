"""A passage that begins on one page and goes on over the next names both, wherever it is shown."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pymupdf
import pytest
from commands import DIRINDEX, run_command
from serving import RawClient, text_of
from web_servers import WebServer

if TYPE_CHECKING:
    from pathlib import Path

_SPANNING = "carousel zeppelin"
_ON_ONE = "lighthouse keeper"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    (place / "docs").mkdir()
    pdf = pymupdf.open()
    for text in (
        *("The lighthouse keeper wrote of ships. " * 60,) * 2,
        "The travellers of that year went home by carousel and",
        "afterwards by zeppelin, as the newspapers of the day tell.",
    ):
        pdf.new_page(width=600, height=800).insert_textbox((60, 120, 540, 700), text, fontsize=10)
    pdf.save(place / "docs/travels.pdf")
    command: list[str | Path] = [DIRINDEX, "index", place / "docs", "--quiet", "--data-dir", place / "data"]
    run_command(command)
    return place / "data"


def _search(data_dir: Path, query: str, *options: str) -> str:
    command: list[str | Path] = [DIRINDEX, "search", query, "--mode", "keyword", "--limit", "1", "--data-dir", data_dir]
    return run_command([*command, *options]).stdout


def test_the_command_names_all_pages_of_a_hit(data_dir: Path) -> None:
    [hit] = json.loads(_search(data_dir, _SPANNING, "--json"))["hits"]
    assert (hit["page"], hit["pages"]) == (3, [2, 3, 4])
    assert "\tpages 2-4\t" in _search(data_dir, _SPANNING)


def test_a_hit_on_one_page_names_that_one(data_dir: Path) -> None:
    [hit] = json.loads(_search(data_dir, _ON_ONE, "--json"))["hits"]
    assert hit["page"] == 1
    assert "pages" not in hit
    assert "\tpage 1\t" in _search(data_dir, _ON_ONE)


def test_the_page_is_that_of_what_matched(data_dir: Path) -> None:
    [hit] = json.loads(_search(data_dir, "zeppelin", "--json"))["hits"]
    assert (hit["page"], hit["pages"]) == (4, [2, 3, 4])


def test_an_assistant_is_told_all_pages(data_dir: Path) -> None:
    with RawClient("--data-dir", data_dir, environ=dict(os.environ)) as client:
        client.shake_hands()
        answer = client.call("search", query=_SPANNING, mode="keyword", limit=1)
        [hit] = answer["structuredContent"]["hits"]
        assert hit["pages"] == [2, 3, 4]
        assert "; pages 2-4" in text_of(answer)


def test_the_api_names_all_pages_in_both_forms(data_dir: Path) -> None:
    with WebServer(data_dir, "--no-token") as server:
        answer = server.search(_SPANNING, mode="keyword", limit=1).json
    assert answer["hits"][0]["pages"] == [2, 3, 4]
    assert (answer["results"][0]["metadata"]["page"], answer["results"][0]["metadata"]["pages"]) == ("3", "2-4")
