"""A name alone asks for its definition, however many passages use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from indexes import Index

N_USES = 120


@pytest.fixture
def crowded(index: Index) -> Index:
    """Give an index in which everything uses what one file defines."""
    for number in range(N_USES):
        use = f"def step_{number}():\n    open_gate()\n    return GateKeeper(open_gate, open_gate, {number})\n"
        index.write(f"use_{number:03}.py", use)
    others = "".join(f"def other_{number}(value):\n    return value * {number}\n\n\n" for number in range(40))
    gates = "class GateKeeper(Base):\n    pass\n\n\ndef open_gate():\n    return latch(1)\n"
    index.write("gates.py", others + gates)
    index.write("tests/test_gates.py", "def latch(door):\n    return door\n")
    index.write("locks.py", "def latch(door):\n    return door.hook\n\n\ndef bolt(door):\n    return latch(door)\n")
    index.run()
    return index


@pytest.mark.slow
@pytest.mark.parametrize("mode", [SearchMode.KEYWORD, SearchMode.HYBRID])
@pytest.mark.parametrize(
    ("query", "name", "line"),
    [
        ("open_gate", "gates.py", 165),
        ("GateKeeper", "gates.py", 161),
        ("gates.open_gate", "gates.py", 165),
        ("bolt", "locks.py", 5),
    ],
)
def test_a_definition_stands_before_a_hundred_uses(
    crowded: Index, mode: SearchMode, query: str, name: str, line: int
) -> None:
    best = crowded.search(query, mode=mode, limit=3)[0]
    assert (best.path.removeprefix(f"{crowded.root}/"), best.excerpt.line) == (name, line)


def test_a_longer_answer_begins_with_the_same_definition_and_repeats_nothing(crowded: Index) -> None:
    few, many = (crowded.search("open_gate", mode=SearchMode.KEYWORD, limit=limit) for limit in (5, 80))
    assert few[0].chunk_id == many[0].chunk_id
    assert len({hit.chunk_id for hit in many}) == len(many)
    assert [hit.score for hit in few] == sorted((hit.score for hit in few), reverse=True)


def test_the_definition_that_no_test_makes_comes_first(crowded: Index) -> None:
    assert crowded.names("latch", mode=SearchMode.KEYWORD)[:2] == ["locks.py", "tests/test_gates.py"]


def test_a_definition_outside_of_the_scope_stays_outside(crowded: Index) -> None:
    assert "gates.py" not in crowded.names("open_gate", globs=("use_*.py",), limit=80)
    assert "gates.py" not in crowded.names("open_gate -heading:open_gate", limit=80)
    assert "gates.py" not in crowded.names("open_gate", grep="step_1[0-9]", limit=80)


def test_a_word_of_prose_is_no_name_where_prose_answers_it(crowded: Index) -> None:
    crowded.write("hinges.md", "# Hinge\n\nA hinge lets a door turn. Oil each hinge twice a year: a dry hinge wears.\n")
    for room in ("hall", "attic", "cellar"):
        crowded.write(f"{room}.md", f"# The {room}\n\nThe hinge of the {room} door is new.\n")
    crowded.write("turning.py", "def turn(door, far):\n    value = far + 1\n\n\ndef hinge(a):\n    return a\n")
    crowded.run()
    assert crowded.names("hinge", mode=SearchMode.KEYWORD)[0] == "hinges.md"


def test_what_holds_a_qualified_name_stands_before_the_definition(index: Index) -> None:
    index.write("gates.py", "def open_gate():\n    return latch(1)\n")
    index.write("use.py", "import gates\n\n\ndef enter():\n    return gates.open_gate()\n")
    index.run()
    assert index.names("gates.open_gate", mode=SearchMode.HYBRID) == ["use.py", "gates.py"]


def test_a_definition_precedes_files_with_the_name_in_theirs(index: Index) -> None:
    index.write("ser/lib.rs", "pub trait Serialize {\n    fn serialize(&self);\n}\n")
    index.write("tests/serialize_field.rs", "#[test]\nfn a_field() {\n    check::<Field>();\n}\n")
    index.write("serialize.md", "How to serialize a field.\n")
    index.run()
    found = index.names("Serialize", mode=SearchMode.KEYWORD)
    assert found == ["serialize.md", "ser/lib.rs", "tests/serialize_field.rs"]
    assert index.names("serialize", mode=SearchMode.KEYWORD)[:2] == ["serialize.md", "tests/serialize_field.rs"]


def test_a_line_stands_before_the_definition_of_a_name_in_it(index: Index) -> None:
    index.write(
        "gates.py",
        "class Gate:\n"
        + "".join(f"    def step_{n}(self, value):\n        return value * {n} + self.base({n})\n\n" for n in range(30))
        + "    def open(self):\n"
        + "        latch_name is a string with the colour of the door.\n"
        + "".join(f"        self.rust({n}, self.colour)\n" for n in range(60))
        + "\n    def close(self):\n        latch_name = 1\n        return latch_name\n",
    )
    index.run()
    first = index.search("latch_name is a string with", mode=SearchMode.KEYWORD)[0]
    assert "latch_name is a string with" in first.text
