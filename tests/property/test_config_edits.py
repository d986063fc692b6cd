"""Entries in configuration files, whatever else the files hold and however they are written."""

from __future__ import annotations

import json
import tomllib
import warnings
from typing import Any

import pytest
import ruamel.yaml
import tomlkit
from hypothesis import example, given, settings
from hypothesis import strategies as st

from directory_indexer.config.settings import parse_jsonc
from directory_indexer.integrations.assistants import EditRefusedError, EntryState, missing_containers
from directory_indexer.integrations.assistants.formats import BEGIN, END, TOML, MarkedBlock
from directory_indexer.integrations.assistants.json_text import JSON
from directory_indexer.integrations.assistants.planning import splice
from directory_indexer.integrations.assistants.yaml_text import YAML

VALUE = {"command": "/opt/dirindex", "args": ["serve", 'a "b"\\'], "enabled": True}
NAMES = st.text(st.sampled_from('ab{}[],:"/\\* #\n\té'), max_size=5)
KEYS = st.sampled_from([("mcpServers", "dirindex"), ("hooks", "SessionStart", "-"), ("amp.mcpServers", "dirindex")])
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | NAMES
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))
ROOTS = st.dictionaries(NAMES, TREES, max_size=4)
CONTAINERS = st.dictionaries(NAMES.filter(lambda name: name != "dirindex"), TREES, max_size=3)
BLANKS = st.sampled_from(["", " ", "\n", "\r\n", "\t", "\n    ", " // c, {\n", '/* } " */', "\n// x\n  "])


@st.composite
def jsonc(draw: st.DrawFn) -> str:
    """Write an object as people might: any blanks and comments anywhere, and commas after the last element."""
    root: dict[str, Any] = draw(ROOTS)
    for key in draw(st.lists(st.sampled_from(["mcpServers", "hooks", "amp.mcpServers"]), unique=True)):
        root[key] = {"SessionStart": draw(st.lists(TREES, max_size=2))} if key == "hooks" else draw(CONTAINERS)

    def write(value: object) -> str:
        if isinstance(value, dict):
            parts = [f"{json.dumps(key)}{draw(BLANKS)}:{draw(BLANKS)}{write(one)}" for key, one in value.items()]
        elif isinstance(value, list):
            parts = [write(one) for one in value]
        else:
            return json.dumps(value)
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        body = f"{draw(BLANKS)},{draw(BLANKS)}".join(parts)
        comma = draw(st.sampled_from(["", ","])) if parts else ""
        return f"{opening}{draw(BLANKS)}{body}{draw(BLANKS)}{comma}{draw(BLANKS)}{closing}"

    return draw(BLANKS) + write(root) + draw(BLANKS)


@given(jsonc(), KEYS)
@settings(max_examples=settings().max_examples)
def test_json_gains_the_entry_and_nothing_else(text: str, keys: tuple[str, ...]) -> None:
    before: Any = parse_jsonc(text)
    made = missing_containers(before, keys)
    after = JSON.with_entry(text, keys, VALUE)
    assert JSON.state(after, keys, VALUE) is EntryState.SAME
    assert splice(text, after)[1] == ""
    without = JSON.without_entry(after, keys, VALUE, made=made)
    assert parse_jsonc(without) == before
    assert _comments(without) == _comments(text)


@given(jsonc(), KEYS, st.data())
@settings(max_examples=settings().max_examples)
def test_json_that_was_reformatted_loses_the_entry_alone(text: str, keys: tuple[str, ...], data: st.DataObject) -> None:
    made = missing_containers(parse_jsonc(text), keys)
    after = json.dumps(parse_jsonc(JSON.with_entry(text, keys, VALUE)), indent=data.draw(st.sampled_from([None, 2])))
    assert parse_jsonc(JSON.without_entry(after, keys, VALUE, made=made)) == parse_jsonc(text)


@given(st.text(st.sampled_from('{}[]",:/* \n\\a1'), max_size=30))
def test_any_text_is_edited_as_json_or_refused(text: str) -> None:
    try:
        after = JSON.with_entry(text, ("a", "dirindex"), VALUE)
    except EditRefusedError:
        return
    assert JSON.state(after, ("a", "dirindex"), VALUE) is EntryState.SAME


TOML_LEAVES = st.booleans() | st.integers(-9, 9) | st.text(st.sampled_from("ab\"'# \n[]="), max_size=5)
TOML_NAMES = st.text(st.sampled_from("ab. #'"), max_size=4)
TOML_TREES = st.recursive(TOML_LEAVES, lambda inner: st.dictionaries(TOML_NAMES, inner, max_size=3))


@given(
    st.dictionaries(TOML_NAMES, TOML_TREES, max_size=4), st.none() | st.dictionaries(TOML_NAMES, TOML_TREES, max_size=3)
)
@settings(max_examples=settings().max_examples)
def test_toml_gains_the_entry_and_nothing_else(root: dict[str, Any], servers: dict[str, Any] | None) -> None:
    tree = root if servers is None else {**root, "mcp_servers": servers}
    text = "# mine\n" + tomlkit.dumps(tree)
    keys = ("mcp_servers", "dirindex")
    after = TOML.with_entry(text, keys, VALUE)
    assert splice(text, after)[1] == ""
    assert tomllib.loads(after)["mcp_servers"]["dirindex"] == VALUE
    without = TOML.without_entry(after, keys, VALUE, made=missing_containers(tree, keys))
    assert tomllib.loads(without) == tree
    assert without.rstrip("\n") == text.rstrip("\n")


YAML_NAMES = st.text(st.sampled_from("ab"), min_size=1, max_size=3)
YAML_SCALARS = st.sampled_from(["x", "'a: b'", '"#"', "&n 3", "[a, 'b']", "{c: d}", "", "~"])
YAML_LINES = st.sampled_from(
    [
        "a:",
        "a: {}",
        "  o:",
        "  o: x",
        "    k: v",
        "  - x",
        "- x",
        "b: |",
        "c: 'x",
        "  y'",
        "d: x",
        "---",
        "# e",
        "",
        "  # f",
    ]
)
YAML_GAPS = st.sampled_from(["", " # c", "\n# d", "\n"])


@st.composite
def yaml(draw: st.DrawFn) -> str:
    """Write a mapping of two levels, with comments, and `extensions` in one of its forms."""
    names = draw(st.lists(YAML_NAMES, unique=True, max_size=3))
    lines = [f"{name}: {draw(YAML_SCALARS)}{draw(YAML_GAPS)}" for name in names]
    form = draw(st.sampled_from(["none", "block", "list", "empty", "nothing"]))
    indent = " " * draw(st.integers(1, 4))
    block = [f"{indent}{name}:{draw(YAML_GAPS)}\n{indent}  k: {draw(YAML_SCALARS)}" for name in ("o", "p")]
    extensions = {
        "none": [],
        "block": [f"extensions:{draw(YAML_GAPS)}", *block],
        "list": ["extensions:", *block, "list:", "- a", "- b: c"],
        "empty": ["extensions: {}"],
        "nothing": [f"extensions:{draw(YAML_GAPS)}"],
    }[form]
    parts = [*lines, *extensions] if draw(st.booleans()) else [*extensions, *lines]
    text = "\n".join(parts)
    return text + ("\n" if text and draw(st.booleans()) else "")


def read(text: str) -> dict[str, Any]:
    """Return what a YAML library reads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ruamel.yaml.error.ReusedAnchorWarning)
        tree: dict[str, Any] = ruamel.yaml.YAML(typ="safe", pure=True).load(text) or {}
    return tree


@given(yaml())
def test_yaml_gains_the_entry_and_nothing_else(text: str) -> None:
    keys = ("extensions", "dirindex")
    before = read(text)
    made = missing_containers(YAML.parsed(text), keys)
    after = YAML.with_entry(text, keys, VALUE)
    assert YAML.state(after, keys, VALUE) is EntryState.SAME
    assert read(after) == before | {"extensions": (before.get("extensions") or {}) | {"dirindex": VALUE}}
    assert splice(text, after)[1].strip() in {"", "{}"}
    now = read(YAML.without_entry(after, keys, VALUE, made=made))
    assert now == before or now == before | {"extensions": {}}


@example("b: |\n  o:")
@given(st.text(st.sampled_from("ab:-{}[]#'\"&*|> \n"), max_size=25) | st.lists(YAML_LINES, max_size=6).map("\n".join))
def test_any_text_is_edited_as_yaml_or_refused(text: str) -> None:
    try:
        after = YAML.with_entry(text, ("a", "dirindex"), VALUE)
    except EditRefusedError:
        return
    assert YAML.state(after, ("a", "dirindex"), VALUE) is EntryState.SAME
    try:
        before = read(text)
    except ruamel.yaml.error.YAMLError:
        return
    assert read(after) == before | {"a": (before.get("a") or {}) | {"dirindex": VALUE}}


@given(st.text(st.sampled_from("a#\n\r- "), max_size=20), st.text(st.sampled_from("b\n"), max_size=5))
def test_a_block_comes_and_goes_at_the_end(text: str, later: str) -> None:
    text = text.replace("\r", "").replace("\n", "\r\n") if "\r" in text else text
    after = MarkedBlock().with_entry(text, (), "Say so.")
    assert MarkedBlock().state(after, (), "Say so.") is EntryState.SAME
    without = MarkedBlock().without_entry(after + later, (), "", made=0)
    assert without.split() == (text + " " + later).split()


@pytest.mark.parametrize("text", [BEGIN, END, f"{END}{BEGIN}"])
def test_half_a_block_is_refused(text: str) -> None:
    with pytest.raises(EditRefusedError):
        MarkedBlock().state(text, (), "")


def _comments(text: str) -> int:
    return text.count("// c, {") + text.count('/* } " */') + text.count("// x")
