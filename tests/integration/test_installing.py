"""dirindex in the assistants of throw-away homes: put in, put in twice, taken out, and what else is in their files."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest
from assistant_homes import LAUNCH, LIVED_IN, Home

from directory_indexer.core.errors import StoreError
from directory_indexer.integrations.assistants.client_table import CLIENTS, client_named
from directory_indexer.integrations.assistants.clients import Client, Launch, Part, resolve_place, snippet
from directory_indexer.integrations.assistants.config_files import RECORD_NAME, read_file, remove_file
from directory_indexer.integrations.assistants.formats import FORMATS, FormatName
from directory_indexer.integrations.assistants.planning import Action, has_plugin, installed_clients
from directory_indexer.text.formatting import PathStyle, plain
from directory_indexer.text.installs import change_lines

ALL = tuple(Part)
of_each_client = pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
on_posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and pipes of POSIX")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "home").mkdir()
    return Home(tmp_path / "home")


@of_each_client
def test_what_was_put_into_an_empty_home_goes_without_a_trace(home: Home, client: Client) -> None:
    before = home.snapshot()
    assert set(home.install(client, parts=ALL)) == {Action.ADD}
    after = home.snapshot()
    assert len(after) > len(before)
    assert set(home.install(client, parts=ALL)) == {Action.SAME}
    assert home.snapshot() == after
    assert set(home.uninstall()) == {Action.REMOVE}
    assert home.snapshot() == before


@of_each_client
def test_files_that_were_there_come_back_to_the_byte(home: Home, client: Client) -> None:
    home.live_in(client)
    before = home.snapshot()
    assert set(home.install(client, parts=ALL)) == {Action.ADD}
    after = home.snapshot()
    for name, (mode, content) in before.items():
        assert after[name][0] == mode
        assert _without_one_stretch(after[name][1], content)
    assert set(home.install(client, parts=ALL)) == {Action.SAME}
    assert home.snapshot() == after
    assert set(home.uninstall(client)) == {Action.REMOVE}
    assert home.snapshot() == before


@of_each_client
def test_the_server_is_where_the_client_looks_for_it(home: Home, client: Client) -> None:
    home.install(client, parts=(Part.MCP,))
    target = client.parts[Part.MCP]
    path = Path(resolve_place(target.places[0], home.system))
    text = path.read_text(encoding="utf-8")
    assert text.rstrip("\n") == snippet(client, LAUNCH)
    assert LAUNCH.command in text
    assert installed_clients([client], home.system) == [client]


@of_each_client
def test_parts_go_one_by_one_and_in_any_order(home: Home, client: Client) -> None:
    home.live_in(client)
    before = home.snapshot()
    home.install(client, parts=ALL)
    for part in client.parts:
        assert home.uninstall(parts=(part,)) == [Action.REMOVE]
    assert home.snapshot() == before


@of_each_client
def test_a_plan_writes_nothing(home: Home, client: Client) -> None:
    home.live_in(client)
    before = home.snapshot()
    assert home.plan(client, parts=ALL).drafts
    assert home.snapshot() == before
    assert not home.data_dir.exists()


@of_each_client
def test_what_was_added_to_a_file_later_stays(home: Home, client: Client) -> None:
    target = client.parts[Part.MCP]
    path = Path(resolve_place(target.places[0], home.system))
    home.install(client, parts=(Part.MCP,))
    form, keys, value = FORMATS[target.format], (target.keys[0], "newcomer"), {"command": "x"}
    path.write_text(form.with_entry(path.read_text(encoding="utf-8"), keys, value), encoding="utf-8")
    assert home.uninstall() == [Action.REMOVE]
    left = path.read_text(encoding="utf-8")
    assert "newcomer" in left
    assert "dirindex" not in left


@pytest.mark.parametrize(
    ("settings", "is_there"),
    [
        ('{"enabledPlugins": {"dirindex@dirindex": true}}', True),
        ('{"enabledPlugins": {"dirindex@dirindex": false, "other@x": true}}', False),
        ('{"enabledPlugins": ["dirindex"]}', False),
        ("[]", False),
        ("{", False),
    ],
)
def test_a_plugin_that_brings_the_same_is_noticed(home: Home, settings: str, *, is_there: bool) -> None:
    assert not has_plugin(home.system)
    (home.path / ".claude").mkdir()
    (home.path / ".claude/settings.json").write_text(settings)
    assert has_plugin(home.system) is is_there


def test_a_new_place_of_the_program_replaces_the_old_one(home: Home) -> None:
    claude = client_named("claude-code")
    home.live_in(claude)
    before = home.snapshot()
    home.install(claude)
    assert home.install(claude, launch=Launch("/new/dirindex", ("serve",))) == [Action.UPDATE, Action.SAME, Action.SAME]
    state = (home.path / ".claude.json").read_text(encoding="utf-8")
    assert "/new/dirindex" in state
    assert "/opt/dirindex" not in state
    home.uninstall()
    assert home.snapshot() == before


def test_a_file_of_several_clients_goes_with_the_last_of_them(home: Home) -> None:
    codex, gemini = client_named("codex"), client_named("gemini")
    home.install(codex, gemini, parts=(Part.SKILL,))
    skill = home.path / ".agents/skills/dirindex/SKILL.md"
    assert home.uninstall(codex) == [Action.KEPT]
    assert skill.exists()
    assert home.uninstall(gemini) == [Action.REMOVE]
    assert not (home.path / ".agents").exists()


def test_an_entry_of_somebody_else_is_left_alone(home: Home) -> None:
    cursor = client_named("cursor")
    path = home.path / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"dirindex": {"command": "mine"}}}')
    before = home.snapshot()
    assert home.install(cursor, parts=(Part.MCP,)) == [Action.TAKEN]
    assert home.uninstall() == []
    assert home.snapshot() == before


def test_an_entry_that_was_pasted_counts_as_there(home: Home) -> None:
    cursor = client_named("cursor")
    path = home.path / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text(snippet(cursor, LAUNCH))
    assert home.install(cursor, parts=(Part.MCP,)) == [Action.SAME]
    assert home.uninstall() == []
    assert path.read_text() == snippet(cursor, LAUNCH)


def test_what_the_user_changed_in_our_entry_survives_a_second_time(home: Home) -> None:
    gemini = client_named("gemini")
    home.install(gemini, parts=(Part.MCP,))
    path = home.path / ".gemini/settings.json"
    path.write_text(path.read_text().replace('"args"', '"trust": true, "args"'))
    assert home.install(gemini, parts=(Part.MCP,)) == [Action.SAME]
    assert "trust" in path.read_text()
    assert home.uninstall() == [Action.REMOVE]
    assert not path.exists()


def test_a_file_that_its_client_wrote_anew_loses_our_entry_alone(home: Home) -> None:
    claude = client_named("claude-code")
    path = home.path / ".claude.json"
    path.write_text('{"numStartups": 1, "mcpServers": {"other": {"command": "x"}}}')
    home.install(claude, parts=(Part.MCP,))
    state = json.loads(path.read_text())
    state["numStartups"] = 2
    path.write_text(json.dumps(state, indent=2))
    home.uninstall()
    assert path.read_text() == json.dumps({**state, "mcpServers": {"other": {"command": "x"}}}, indent=2)


def test_a_skill_that_was_rewritten_is_kept(home: Home) -> None:
    home.install(client_named("kiro"), parts=(Part.RULES,))
    path = home.path / ".kiro/steering/dirindex.md"
    path.write_text("mine now")
    assert home.uninstall() == [Action.REFUSED]
    assert path.read_text() == "mine now"


@on_posix
def test_links_below_the_home_stay_links(home: Home) -> None:
    codex = client_named("codex")
    (home.path / "dotfiles").mkdir()
    (home.path / "dotfiles/config.toml").write_text(LIVED_IN[FormatName.TOML])
    (home.path / ".codex").mkdir()
    (home.path / ".codex/config.toml").symlink_to("../dotfiles/config.toml")
    before = home.snapshot()
    home.install(codex, parts=(Part.MCP,))
    assert (home.path / ".codex/config.toml").is_symlink()
    assert "dirindex" in (home.path / "dotfiles/config.toml").read_text()
    home.uninstall()
    assert home.snapshot() == before


def _leads_out(path: Path) -> None:
    outside = path.parent.parent.parent / "outside"
    outside.write_text("{}")
    path.symlink_to(outside)


def _has_two_names(path: Path) -> None:
    path.write_text("{}")
    os.link(path, f"{path}.other")


_HOSTILE = {
    "a link out of the home": (_leads_out, "outside your home"),
    "a pipe": (os.mkfifo if hasattr(os, "mkfifo") else Path.mkdir, "not a regular file"),
    "a directory": (Path.mkdir, "not a regular file"),
    "no JSON": (lambda path: path.write_text('{"mcpServers": '), "line 1, column"),
    "half a string": (lambda path: path.write_text('{"mcpServers": {"a'), "line 1, column"),
    "a list": (lambda path: path.write_text("[]"), "the file is not an object"),
    "a text for a mapping": (lambda path: path.write_text('{"mcpServers": "none"}'), "'mcpServers' is not an object"),
    "no text": (lambda path: path.write_bytes(b'{"a": "\xff"}'), "byte 7 is not UTF-8"),
    "too deep": (lambda path: path.write_text('{"a":' * 5_000), "nested too deep"),
    "too large": (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 33 << 20), "larger than 32 MB"),
    "a hard link": (_has_two_names, "hard links"),
    "a loop of links": (lambda path: path.symlink_to(path.name), ""),
}


@on_posix
@pytest.mark.parametrize("kind", _HOSTILE)
def test_a_file_that_is_not_what_it_should_be_is_left_as_it_is(home: Home, kind: str) -> None:
    make, reason = _HOSTILE[kind]
    cursor, gemini = client_named("cursor"), client_named("gemini")
    path = home.path / ".cursor/mcp.json"
    path.parent.mkdir()
    make(path)
    before = {name: mode for name, (mode, _) in home.snapshot().items() if name.startswith(".cursor")}
    plan = home.plan(cursor, gemini)
    assert plan.steps[0].action is Action.REFUSED
    assert reason in plan.steps[0].reason
    assert plan.steps[0].path == str(path)
    assert home.install(cursor, gemini)[1:] == [Action.ADD] * 3
    assert {name: mode for name, (mode, _) in home.snapshot().items() if name.startswith(".cursor")} == before


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("goose", "a: 1\n---\nb: 2\n", "several documents"),
        ("goose", "extensions: [a\n", "cannot be edited safely"),
        ("goose", "extensions: text\n", "'extensions' is not an object"),
        ("goose", "a: 1\na: 2\n", "more than once"),
        ("goose", "[" * 200, "cannot be edited safely"),
        ("goose", "- a\n", "the file is not an object"),
        ("codex", "[mcp_servers\n", "line 1"),
        ("codex", "mcp_servers = { a = { command = 'x' } }\n", "cannot be edited safely"),
        ("codex", "mcp_servers = 3\n", "'mcp_servers' is not an object"),
    ],
)
def test_other_formats_are_refused_with_a_reason(home: Home, name: str, text: str, reason: str) -> None:
    client = client_named(name)
    path = Path(resolve_place(client.parts[Part.MCP].places[0], home.system))
    path.parent.mkdir(parents=True)
    path.write_text(text)
    step = home.plan(client, parts=(Part.MCP,)).steps[0]
    assert (step.action, reason in step.reason) == (Action.REFUSED, True), step.reason
    assert path.read_text() == text


def test_aliases_that_would_expand_without_end_cost_nothing(home: Home) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{two}: &{two} [{', '.join([f'*{one}'] * 9)}]" for one, two in zip("abcdefgh", "bcdefghi", strict=True)]
    path = home.path / ".config/goose/config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines))
    assert home.install(client_named("goose"), parts=(Part.MCP,)) == [Action.ADD]
    home.uninstall()
    assert path.read_text() == "\n".join(lines)


def test_a_file_that_changes_meanwhile_is_not_overwritten(home: Home) -> None:
    claude = client_named("claude-code")
    path = home.path / ".claude.json"
    path.write_text("{}")
    plan = home.plan(claude, parts=(Part.MCP,))
    path.write_text('{"new": 1}')
    failures = home._apply(plan, uninstall=False)  # noqa: SLF001 - the plan is the point
    assert [failure.path for failure in failures] == [str(path)]
    assert path.read_text() == '{"new": 1}'
    assert home.install(claude, parts=(Part.MCP,)) == [Action.ADD]


def test_a_kill_between_the_record_and_the_file_does_no_harm(home: Home) -> None:
    gemini = client_named("gemini")
    home.live_in(gemini)
    before = home.snapshot()
    home.install(gemini)
    (home.path / ".gemini/settings.json").write_bytes(before[".gemini/settings.json"][1])
    assert home.install(gemini) == [Action.ADD, Action.SAME, Action.ADD]
    home.uninstall()
    assert home.snapshot() == before


@pytest.mark.slow
def test_a_change_of_a_large_file_is_shown_by_what_surrounds_it(home: Home) -> None:
    text = json.dumps({"mcpServers": {"a": {}}, "projects": [f"/p/{number}" for number in range(100_000)]}, indent=2)
    (home.path / ".claude.json").write_text(text)
    plan = home.plan(client_named("claude-code"), parts=(Part.MCP,))
    shown = plain(change_lines(plan, paths=PathStyle())).splitlines()
    assert len(shown) < 20
    assert '+    "dirindex": {' in shown
    assert '   "mcpServers": {' in shown


def test_the_record_holds_nothing_of_what_others_wrote(home: Home) -> None:
    for client in CLIENTS.values():
        home.live_in(client)
    home.install(*CLIENTS.values(), parts=ALL)
    record = home.data_dir / RECORD_NAME
    assert "keep-me" not in record.read_text()
    assert stat.S_IMODE(record.stat().st_mode) == 0o600 or sys.platform == "win32"


def test_a_damaged_record_is_reported(home: Home) -> None:
    home.data_dir.mkdir()
    (home.data_dir / RECORD_NAME).write_text('{"edits": [{}]}')
    with pytest.raises(StoreError, match="is damaged"):
        home.install(client_named("cursor"))


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_keep_applications_elsewhere(tmp_path: Path, platform: str) -> None:
    system = Home(tmp_path, platform).system
    places = {
        name: resolve_place(client_named(name).parts[Part.MCP].places[0], system).removeprefix(f"{tmp_path}/")
        for name in ("claude-desktop", "vscode", "goose", "zed")
    }
    assert (
        places
        == {
            "darwin": {
                "claude-desktop": "Library/Application Support/Claude/claude_desktop_config.json",
                "vscode": "Library/Application Support/Code/User/mcp.json",
                "goose": ".config/goose/config.yaml",
                "zed": ".config/zed/settings.json",
            },
            "win32": {
                "claude-desktop": "AppData/Roaming/Claude/claude_desktop_config.json",
                "vscode": "AppData/Roaming/Code/User/mcp.json",
                "goose": "AppData/Roaming/Block/goose/config/config.yaml",
                "zed": "AppData/Roaming/Zed/settings.json",
            },
        }[platform]
    )


def _without_one_stretch(longer: bytes, shorter: bytes) -> bool:
    """Tell whether cutting stretches out of one text can give the other: nothing was removed or moved."""
    rest = iter(longer)
    return all(byte in rest for byte in shorter)


def test_no_directory_is_removed_that_a_file_does_not_lie_in(tmp_path: Path) -> None:
    place, other = tmp_path / "made", tmp_path / "other"
    for directory in (place, other):
        directory.mkdir()
    (place / "config.json").write_text("{}", encoding="utf-8")
    file = read_file(str(place / "config.json"), (str(tmp_path),))
    remove_file(file, [str(place), str(other)])
    assert not place.exists()
    assert other.is_dir()
