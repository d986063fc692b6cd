"""The titles of reStructuredText."""

from __future__ import annotations

import pytest

from directory_indexer.formats.markup import extract_restructuredtext

EVERYTHING = """\
.. _label:

=========
 Manual
=========

Introduction with a table:

=====  =====
A      B
=====  =====
1      2
=====  =====

Install
=======

.. code-block:: sh

    # Heading-like
    ==============

Using :mod:`json` and ``code``
------------------------------

-----

More
----

Reference
=========

x
-

.. note::
   ---------
"""


def test_titles_are_nested_in_the_order_of_their_adornments() -> None:
    document = extract_restructuredtext(EVERYTHING, "restructuredtext")
    assert [(EVERYTHING.count("\n", 0, section.start) + 1, section.headings) for section in document.sections] == [
        (1, ()),
        (3, ("Manual",)),
        (15, ("Manual", "Install")),
        (23, ("Manual", "Install", "Using json and code")),
        (28, ("Manual", "Install", "More")),
        (31, ("Manual", "Reference")),
    ]
    assert document.title == "Manual"
    assert document.text == EVERYTHING


@pytest.mark.parametrize(
    "text",
    ["text\n\n====\n\ntext\n", "====\n====\n", "a paragraph\n==\n", "    code\n    ====\n\n", "====", "", "\n====\n"],
)
def test_what_only_looks_like_a_title_is_none(text: str) -> None:
    assert [section.headings for section in extract_restructuredtext(text, "restructuredtext").sections] == [()]


def test_notes_of_nothing_but_release_candidates_are_kept() -> None:
    text = (
        "Release notes\n=============\n\n1.0rc2 (2026-03-01)\n-------------------\n\n* A fix.\n\n"
        "1.0rc1\n------\n\n.. rc-only\n\n* First.\n"
    )
    document = extract_restructuredtext(text, "restructuredtext")
    assert document.text == text
    assert [section.headings[-1:] for section in document.sections] == [
        ("Release notes",),
        ("1.0rc2 (2026-03-01)",),
        ("1.0rc1",),
    ]
