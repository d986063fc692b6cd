"""The README and the guide are short, name what there is, and quote the figures of the pages that are measured."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from directory_indexer import __version__
from directory_indexer.cli.command_line import cli

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
GUIDE = sorted((ROOT / "docs/guide").glob("*.md"))
PAGES = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "contrib/README.md"))
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_SHELL = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)|(?:src|srcset)=\"([^\"]+)\"")
_CALL = re.compile(r"(?:^|[\s(])dirindex (?P<words>[^|;&#>\n]*)")
_KEYWORDS_AND_VECTORS = "keyword index and static vectors, 5,779 files, 107 MB"
FIGURES = {
    "39 s": ("speed.md", f"{_KEYWORDS_AND_VECTORS} | ms (processor) | 52,787 (77,850) | 38,604"),
    "after 53": ("speed.md", f"{_KEYWORDS_AND_VECTORS} | ms (processor) | 52,787"),
    "240 MB": ("speed.md", f"{_KEYWORDS_AND_VECTORS} | MB of memory | 240 | 908 | recollindex"),
    "48 s": (
        "speed.md",
        f"{_KEYWORDS_AND_VECTORS} | ms (processor) | 52,787 (77,850) | 48,482 (77,716) | recollindex",
    ),
    "908 MB": ("speed.md", "MB of memory | 240 | 908 | recollindex"),
    "2,437": ("ranking-results.md", "2,437 asked"),
    "99.4 %": ("ranking-results.md", "| dirindex | .994 |"),
    "78.4 %": ("ranking-results.md", "| Recoll | .784 |"),
    "99.9 %": ("formats.md", "| docx, 470 | .9994 |"),
    "470 Word files": ("formats.md", "| docx, 470 | .9994 | .9889 |"),
    "98.9 %": ("formats.md", "| docx, 470 | .9994 | .9889 |"),
    "70 %": ("ranking-results.md", "| **dirindex** | **.698** |"),
    "54 %": ("ranking-results.md", "| ripgrep, words, no tests or docs | .542 |"),
    "20 ms": (
        "speed.md",
        "106,251 chunks, 208 keys | ms of the browser's clock: median / p95 / slowest | 19.6 /",
    ),
    "901 runs": ("robustness.md", "901 runs killed"),
}
"""Figures of the README, and where they are measured."""


def _prose(page: Path) -> str:
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def _calls(page: Path) -> list[list[str]]:
    blocks = _SHELL.findall(page.read_text(encoding="utf-8"))
    return [shlex.split(call["words"]) for block in blocks for call in _CALL.finditer(block)]


@cache
def _anchors(page: Path) -> frozenset[str]:
    """Return the names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", _prose(page), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def test_the_readme_has_fewer_than_seven_hundred_words() -> None:
    assert len(README.read_text(encoding="utf-8").split()) < 700


def test_the_readme_says_how_the_main_job_and_the_tests_are_run() -> None:
    text = README.read_text(encoding="utf-8")
    assert "\npython3 scripts/demo " in text
    assert "\npython3 scripts/test " in text


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_of_the_readme_is_the_one_that_was_measured(figure: str) -> None:
    page, row = FIGURES[figure]
    assert figure in README.read_text(encoding="utf-8").replace("\n  ", " ")
    assert row in (ROOT / "docs" / page).read_text(encoding="utf-8")


def test_the_readme_names_the_size_of_the_installation() -> None:
    page = (ROOT / "docs/packaging.md").read_text(encoding="utf-8")
    [sizes] = re.findall(r"takes (\d+) MB, and (\d+) MB of bytecode", page)
    assert f"about {round(sum(map(int, sizes)), -1)} MB" in README.read_text(encoding="utf-8")


def _versions() -> dict[str, str]:
    """Return the sections of the change log by their headings."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", changes, re.DOTALL | re.MULTILINE))


def test_the_newest_version_of_the_change_log_is_that_of_the_package() -> None:
    unreleased, newest, *_ = _versions()
    assert unreleased == "Unreleased"
    assert newest.split()[0] == __version__


def test_a_version_of_the_change_log_has_at_most_twenty_five_changes_in_groups() -> None:
    for version, changes in _versions().items():
        assert re.fullmatch(r"Unreleased|\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", version)
        assert set(re.findall(r"^#+ (.*)$", changes, re.MULTILINE)) <= {"Added", "Changed", "Fixed", "Security"}
        assert len(re.findall(r"^- ", changes, re.MULTILINE)) <= 25


def test_the_map_of_the_repository_is_short_and_names_modules_that_exist() -> None:
    architecture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(architecture.encode()) <= 12 * 1024
    pages = (architecture, *(page.read_text(encoding="utf-8") for page in (ROOT / "docs/decisions").glob("*.md")))
    named = {name for text in pages for name in re.findall(r"`(\w+/[\w/]+\.py)`", text)}
    assert named
    assert {
        name for name in named if not any((at / name).is_file() for at in (ROOT / "directory_indexer", ROOT))
    } == set()


def test_scripts_that_are_named_anywhere_exist() -> None:
    sources = (
        path
        for place in ("directory_indexer", "tests", "scripts", "packaging", "deploy", "contrib")
        for path in (ROOT / place).rglob("*")
    )
    kinds = {".py", ".toml", ".yaml", ".yml", ""}
    samples = {"test_documentation.py", "test_file_names.py", "test_structured.py", "pasted_texts.py", "CHANGELOG.md"}
    files = [*PAGES, ROOT / "pyproject.toml", *(path for path in sources if path.is_file() and path.suffix in kinds)]
    named = {
        (str(path.relative_to(ROOT)), name)
        for path in files
        if path.name not in samples
        for name in re.findall(r"(?<![\w/.-])scripts/([a-z]\w+(?:/\w+\.\w+)?)", path.read_text("utf-8", "replace"))
    }
    assert {(path, name) for path, name in named if not (ROOT / "scripts" / name).exists()} == set()


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.stem)
def test_a_page_of_the_guide_is_short(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 250


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.stem)
def test_the_guide_uses_no_terms_of_the_implementation(page: Path) -> None:
    words = set(re.findall(r"[a-z]+", _prose(page).lower()))
    assert words & {"chunk", "chunks", "generation", "generations", "vector", "vectors"} == set()


@pytest.mark.parametrize("room", ["cli", "integrations", "text"])
def test_commands_print_nothing_about_vectors(room: str) -> None:
    printed = [text for path in (ROOT / "directory_indexer" / room).rglob("*.py") for text in _literals(path)]
    assert [text for text in printed if re.search(r"\bvectors?\b", text)] == []


def test_the_help_is_about_meaning_and_not_about_vectors() -> None:
    assert not re.search(r"\b(?:vectors?|embedding)\b", (ROOT / "tests/golden/help.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    broken = []
    for target, anchor, picture in _LINK.findall(_prose(page)):
        place = page.parent / (target or picture or page.name)
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in _anchors(place)):
            broken.append(f"{target or picture}#{anchor}")
    assert broken == []


@pytest.mark.parametrize("page", [README, *GUIDE], ids=lambda page: page.stem)
def test_commands_and_options_of_the_guide_exist(page: Path) -> None:
    assert [problem for words in _calls(page) if (problem := _problem(words))] == []


def test_the_guide_names_every_command() -> None:
    text = (ROOT / "docs/guide/getting-started.md").read_text(encoding="utf-8")
    table = text[text.index("## All commands") :]
    named = {word for code in re.findall(r"`([^`]*)`", table) for word in code.split()}
    assert {name for name, command in _commands(()).items() if not command.hidden} <= named


def _literals(path: Path) -> list[str]:
    """Return the texts in a module, without its docstrings."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    constants = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return [node.value for node in constants if isinstance(node.value, str)]


def _problem(words: list[str]) -> str:
    names: tuple[str, ...] = ()
    while (below := _commands(names)) and (word := next(iter(words[len(names) :]), "")) in below:
        names = (*names, word)
    if not names and not words[0].startswith("-"):
        return f"no command {words[0]}"
    known = _options(names)
    return ", ".join(word for word in words if word.startswith("-") and word != "-" and word.split("=")[0] not in known)


@cache
def _command(names: tuple[str, ...]) -> Any:
    group: Any = typer.main.get_command(cli)
    for name in names:
        group = group.get_command(typer.Context(group), name)
    return group


def _commands(names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _command((*names, name)) for name in getattr(_command(names), "commands", None) or ()}


def _options(names: tuple[str, ...]) -> set[str]:
    return {option for parameter in _command(names).params for option in (*parameter.opts, *parameter.secondary_opts)}
