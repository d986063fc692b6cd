"""Homes of people who have used an assistant for a while: files with entries, comments and habits of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from directory_indexer.integrations.assistants.clients import Client, Launch, Part, System, default_parts, resolve_place
from directory_indexer.integrations.assistants.config_files import read_record
from directory_indexer.integrations.assistants.formats import FormatName
from directory_indexer.integrations.assistants.planning import (
    Action,
    Failure,
    Installation,
    Plan,
    Removal,
    apply_installation,
    apply_removal,
    lock_record,
)

LAUNCH = Launch("/opt/dirindex", ("serve",))

_OTHER_SERVER = '{"command": "/usr/bin/other", "args": ["-x"], "env": {"TOKEN": "keep-me"}}'
LIVED_IN = {
    FormatName.JSON: (
        "// mine, hands off\n{\n"
        f'\t"mcpServers": {{ // servers\n\t\t"other": {_OTHER_SERVER}, /* why */\n\t}},\n'
        f'\t"servers": {{"other": {_OTHER_SERVER}}},\n\t"mcp": {{}},\n'
        f'\t"context_servers": {{\n\t\t"other": {_OTHER_SERVER}\n\t}},\n'
        '\t"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "true"}]}]},\n'
        '\t"theme": "dark", "version": 1,\n}\n'
    ),
    FormatName.TOML: "# mine\nmodel = \"o9\"\n[mcp_servers.other] # why\ncommand = '/usr/bin/other'\n\n[[list]]\na=1\n",
    FormatName.YAML: (
        "# mine\nextensions:\n    other: # why\n        cmd: &a 'x'\n        args: [ *a ]\n    # end\nGOOSE: y\n"
    ),
    FormatName.MARKED: "# My rules\n\nBe brief.",
}


class Home(NamedTuple):
    """A home directory, and the data directory in it."""

    path: Path
    platform: str = "linux"

    @property
    def data_dir(self) -> Path:
        """Where the record is kept."""
        return self.path / ".directory-indexer"

    @property
    def system(self) -> System:
        """What places are found by: nothing of the system that the tests run on."""
        return System(str(self.path), {}, self.platform)

    def live_in(self, client: Client) -> None:
        """Fill the home with what the client and its user have left there."""
        for target in client.parts.values():
            path = Path(resolve_place(target.places[0], self.system))
            if target.format is not FormatName.WHOLE:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(LIVED_IN[target.format], encoding="utf-8", newline="")
                path.chmod(0o640)

    def snapshot(self) -> dict[str, tuple[int, bytes]]:
        """Give the mode and the bytes of everything but the data directory."""
        found = {}
        for directory, names, files in os.walk(self.path):
            if ".directory-indexer" in names:
                names.remove(".directory-indexer")
            for name in (*names, *files):
                path = Path(directory, name)
                content = os.fsencode(os.readlink(path)) if path.is_symlink() else b""
                content = path.read_bytes() if path.is_file() and not path.is_symlink() else content
                found[str(path.relative_to(self.path))] = path.lstat().st_mode, content
        return found

    def plan(self, *clients: Client, parts: tuple[Part, ...] = (), launch: Launch = LAUNCH) -> Plan:
        """Plan what would be put in."""
        wanted = [(one, [part for part in parts or default_parts(one) if part in one.parts]) for one in clients]
        return Installation(self.system, launch, read_record(self.data_dir)).plan(wanted)

    def install(self, *clients: Client, parts: tuple[Part, ...] = (), launch: Launch = LAUNCH) -> list[Action]:
        """Put parts in, and say what was done about each."""
        plan = self.plan(*clients, parts=parts, launch=launch)
        assert not self._apply(plan, uninstall=False)
        return [step.action for step in plan.steps]

    def uninstall(self, *clients: Client, parts: tuple[Part, ...] = ()) -> list[Action]:
        """Take parts out, and say what was done about each."""
        plan = Removal(self.system, read_record(self.data_dir)).plan([client.name for client in clients], parts)
        assert not self._apply(plan, uninstall=True)
        return [step.action for step in plan.steps]

    def _apply(self, plan: Plan, *, uninstall: bool) -> list[Failure]:
        with lock_record(self.data_dir, plan):
            return (apply_removal if uninstall else apply_installation)(plan, self.data_dir)
