"""Passages of your own files in Albert, by meaning and by words."""

import json
import os
import subprocess
from typing import Any

from albert import Action, PluginInstance, StandardItem, TriggerQueryHandler, openFile, setClipboardText

md_iid = "4.0"
md_version = "1.0"
md_name = "dirindex"
md_description = "Find passages in your own files, by meaning and by words"
md_license = "MIT"
md_bin_dependencies = ["dirindex"]


class Plugin(PluginInstance, TriggerQueryHandler):
    """Search when the query begins with the trigger."""

    def __init__(self) -> None:
        PluginInstance.__init__(self)
        TriggerQueryHandler.__init__(self)

    def defaultTrigger(self) -> str:  # noqa: N802 - Albert's name
        """Give what a query begins with."""
        return "d "

    def handleTriggerQuery(self, query: Any) -> None:  # noqa: N802 - Albert's name
        """Add the hits to a query."""
        text = query.string.strip()
        if text and query.isValid:
            query.add([self._item(hit) for hit in found(text)])

    def _item(self, hit: dict[str, Any]) -> StandardItem:
        place = f"{hit['path']}:{hit['line'] or hit['start_line']}"
        return StandardItem(
            id=hit["chunk_id"],
            text=hit["heading"] or hit["title"] or os.path.basename(hit["path"]),
            subtext=f"{place}  {' '.join(hit['excerpt'].split())[:120]}",
            iconUrls=["xdg:system-search"],
            actions=[
                Action("open", "Open", lambda path=hit["path"]: openFile(path)),
                Action("copy", "Copy the place", lambda place=place: setClipboardText(place)),
            ],
        )


def found(text: str) -> list[dict[str, Any]]:
    """Give the hits for a query; none where there is no index."""
    command = ["dirindex", "search", "--json", "--quiet", "--limit", "9", "--", text]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - no shell reads it
    return json.loads(done.stdout)["hits"] if done.stdout else []
