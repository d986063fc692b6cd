from __future__ import annotations

import json

import pytest

from directory_indexer.config.settings import parse_jsonc


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ('{"a": 1} // end', {"a": 1}),
        ('/* one\n two */ {"a": [1, 2,],}', {"a": [1, 2]}),
        ('{\n  // "a": 1,\n  "b": 2, // last\n}', {"b": 2}),
        ('{"url": "http://x/*y*/", "text": "a,]"}', {"url": "http://x/*y*/", "text": "a,]"}),
        (r'{"a": "quote \" // not a comment"}', {"a": 'quote " // not a comment'}),
    ],
)
def test_comments_and_last_commas_are_left_out_but_not_those_in_strings(text: str, parsed: object) -> None:
    assert parse_jsonc(text) == parsed


def test_a_mistake_after_a_comment_is_reported_where_the_editor_shows_it() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        parse_jsonc('{\n  /* two\n  lines */ "a": 1,\n  // more\n  "b" 2\n}')
    assert (caught.value.lineno, caught.value.colno) == (5, 7)
