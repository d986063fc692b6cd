"""What authors of texts write before them: fields in YAML or TOML, keywords of Org, fields of reStructuredText.

Of YAML that is scanned which people write there: values, quoted or not, lists on one line or several, folded text. A
parser that follows the whole language takes a hundred times as long, and one alias may stand for gigabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from directory_indexer.extractors.document import Metadata
from directory_indexer.extractors.outline import one_line
from directory_indexer.extractors.properties import iso_time, listed, one_value, primary_language, values
from directory_indexer.lazy import lazily

with lazily:
    import tomllib


class FrontMatter(NamedTuple):
    """What stands before a text, which begins at character `end`."""

    end: int
    title: str
    metadata: Metadata


def read_front_matter(text: str) -> FrontMatter | None:
    """Read the fields before a Markdown text, between lines of `---` (YAML) or `+++` (TOML); None where none are."""
    found = _FRONT_MATTER.match(text[:_WITHIN])
    if not found:
        return None
    fields = _toml_fields(found["fields"]) if found["fence"] == "+++" else _yaml_fields(found["fields"])
    title, metadata = understood(fields)
    return FrontMatter(found.end(), title, metadata)


def read_keywords(text: str, kind: str) -> Metadata:
    """Read the fields of an Org, reStructuredText, AsciiDoc or LaTeX text that is no Markdown."""
    found = _KEYWORDS[kind].finditer(text[:_WITHIN])
    return understood((one["name"], [one["value"]]) for one in found)[1]


def understood(fields: Iterable[tuple[str, list[str]]]) -> tuple[str, Metadata]:
    """Tell what fields mean by the names that people give them, and give the title apart."""
    said: dict[str, list[str]] = {}
    for name, written in fields:
        if meaning := _MEANINGS.get(name.strip().lower().replace("-", "_").replace(" ", "_").removeprefix("dc.")):
            said.setdefault(meaning, []).extend(written)
    return one_line(_first(said, "title")), Metadata(
        authors=_listed(said, "authors"),
        created=_time(_first(said, "created")),
        modified=_time(_first(said, "modified")),
        language=primary_language(_first(said, "language")),
        subject=one_value(_first(said, "subject")),
        tags=_listed(said, "tags"),
    )


def _yaml_fields(lines: str) -> Iterator[tuple[str, list[str]]]:
    name, text, items = "", list[str](), list[str]()
    for line in lines.split("\n"):
        if found := _FIELD.match(line):
            yield name, items or _yaml_values(" ".join(text))
            name, text, items = found["name"], [_FOLDING.sub("", found["value"].strip())], []
        elif item := _ITEM.match(line):
            items += _yaml_values(item["value"])
        elif line.startswith((" ", "\t")) and not items:
            text.append(line.strip())
    yield name, items or _yaml_values(" ".join(text))


def _yaml_values(value: str) -> list[str]:
    value = _COMMENT.sub("", value).strip()
    if value.startswith("[") and value.endswith("]"):
        return [_unquoted(one) for one in value[1:-1].split(",")]
    return [_unquoted(value)]


def _unquoted(value: str) -> str:
    value = value.strip()
    if value[:1] in ("'", '"') and value.endswith(value[0]) and len(value) > 1:
        return value[1:-1].replace(f"\\{value[0]}", value[0])
    return value


def _toml_fields(lines: str) -> Iterator[tuple[str, list[str]]]:
    try:
        table = tomllib.loads(lines)
    except (RecursionError, ValueError):
        return
    taxonomies = table.get("taxonomies")
    for name, value in (*table.items(), *(taxonomies.items() if isinstance(taxonomies, dict) else ())):
        yield name, list(_plain(value))


def _plain(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _plain(one.get("name", "") if isinstance(one, dict) else str(one))
    elif not isinstance(value, dict):
        yield str(value)


def _first(said: dict[str, list[str]], meaning: str) -> str:
    return next((one.strip() for one in said.get(meaning, ()) if one.strip()), "")


def _listed(said: dict[str, list[str]], meaning: str) -> tuple[str, ...]:
    written = said.get(meaning, [])
    return listed(written[0]) if len(written) == 1 else values(written)


def _time(written: str) -> str:
    found = _TIME.search(written)
    if not found:
        return ""
    date, time = found["date"].replace("/", "-"), found["time"] or ""
    return iso_time(f"{date}T{time[1:]}") or iso_time(date)


_WITHIN: Final = 65_536
_FRONT_MATTER: Final = re.compile(
    r"(?P<fence>---|\+\+\+)[ \t]*\n(?P<fields>.*?)^(?:(?P=fence)|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE
)
_FIELD: Final = re.compile(r"(?P<name>[A-Za-z][\w. -]{0,40}?)[ \t]*:(?=[ \t]|$)(?P<value>.*)")
_ITEM: Final = re.compile(r"[ \t]*-[ \t]+(?:name:[ \t]*)?(?P<value>.*)")
_FOLDING: Final = re.compile(r"^[|>][+-]?\d?$")
_COMMENT: Final = re.compile(r"(?:^|\s)#[^\"']*$")
_TIME: Final = re.compile(
    r"(?P<date>\b\d{4}(?:[-/]\d\d(?:[-/]\d\d)?)?)(?P<time>[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?"
)
_KEYWORDS: Final = {
    "asciidoc": re.compile(r"^:(?P<name>[A-Za-z-]{1,40}):[ \t]+(?P<value>\S[^\n]*)", re.MULTILINE),
    "latex": re.compile(r"^\s*\\(?P<name>author|date|keywords)\s*\{(?P<value>[^{}\\]{1,400})\}", re.MULTILINE),
    "org": re.compile(r"^#\+(?P<name>[A-Za-z_]{1,40}):[ \t]*(?P<value>\S[^\n]*)", re.MULTILINE),
    "restructuredtext": re.compile(r"^:(?P<name>[A-Za-z ]{1,40}):[ \t]+(?P<value>\S[^\n]*)", re.MULTILINE),
}
KINDS_WITH_KEYWORDS: Final = frozenset(_KEYWORDS)

_MEANINGS: Final = {
    name: meaning
    for meaning, names in {
        "title": "title",
        "authors": "author authors creator by writer",
        "created": "date created created_at date_created published publish_date pubdate date_published issued",
        "modified": "modified updated updated_at lastmod last_modified last_updated date_modified revised",
        "language": "lang language locale",
        "subject": "description summary subject subtitle abstract excerpt",
        "tags": "tags tag keywords keyword categories category topics filetags",
    }.items()
    for name in names.split()
}
