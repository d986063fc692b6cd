"""Settings as the page shows them: read anew, except where the configuration and the index lie."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from directory_indexer.config import load_config
from directory_indexer.server.rest.arguments import NoArguments
from directory_indexer.server.rest.page_operations import settings

if TYPE_CHECKING:
    from pathlib import Path


def test_places_are_those_of_the_server_in_whatever_order_settings_are_listed(tmp_path: Path) -> None:
    loaded = load_config(file=None, data_dir=tmp_path / "data", environ={})
    app = SimpleNamespace(loaded=loaded._replace(settings=loaded.settings[::-1]))
    services: Any = SimpleNamespace(collections=SimpleNamespace(app=app))
    answer = settings(services, NoArguments())
    keys = [one.key for one in answer.settings]
    [data_dir] = [one for one in answer.settings if one.key == "data_dir"]
    assert keys == [one.key for one in loaded.settings]
    assert (data_dir.value, data_dir.source, data_dir.origin) == (str(tmp_path / "data"), "option", "--data-dir")
