"""The progress that `scripts/demo` and `scripts/test` show while pip installs."""

from __future__ import annotations

from environment import Packages

FETCHED = (
    "Looking in links: /opt/wheels\n",
    "Collecting numpy>=2.0 (from directory-indexer==0.1.0)\n",
    "  Downloading numpy-2.3.5-cp311-cp311-manylinux_2_27_x86_64.whl (16.9 MB)\n",
    "  Using cached click-8.5.1-py3-none-any.whl (126 kB)\n",
    "  Downloading pymupdf4llm-2.0-py3-none-any.whl (904 bytes)\n",
    "Requirement already satisfied: pip in ./.venv (26.3)\n",
)


def after(*lines: str) -> Packages:
    packages = Packages()
    for line in lines:
        packages.read(line)
    return packages


def test_what_is_fetched_is_named_with_its_size() -> None:
    assert after().state(0) == "looking for packages"
    assert after(*FETCHED[:3]).state(0) == "fetching, 1 package, 16.9 MB, now numpy (16.9 MB)"
    assert after(*FETCHED).state(0) == "fetching, 3 packages, 17.0 MB, now pymupdf4llm (1 kB)"


def test_packages_are_counted_while_pip_unpacks_without_a_word() -> None:
    packages = after(*FETCHED, "Installing collected packages: pymupdf4llm, click, numpy\n")
    assert packages.state(2) == "unpacking, 2 of 3 packages"
    assert packages.state(-1) == "unpacking, 0 of 3 packages"
    assert packages.result() == "3 packages, 17.0 MB"


def test_an_environment_that_is_complete_needs_nothing() -> None:
    assert after(FETCHED[-1]).result() == "nothing to do"
